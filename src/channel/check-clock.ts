import type { Clock } from '../clock.ts';
import { type ChannelFinding, failed, passed, skipped } from './diagnosis.ts';

/** Callbacks are refused beyond 300 s; half of that leaves no room for a slow network. */
const MOST_SKEW_MS = 150_000;

/** Compares this machine's clock with the `Date` header of the platform, whatever it answers otherwise. */
export async function checkClock(input: {
  readonly url: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}): Promise<ChannelFinding> {
  const { url, clock, signal } = input;
  const date = await fetch(url, { redirect: 'manual', signal }).then(
    ({ headers }) => Date.parse(headers.get('date') ?? ''),
    () => Number.NaN,
  );
  if (Number.isNaN(date))
    return skipped({
      'zh-CN': '平台没有说明时间，未核对时钟',
      'en-US': 'the platform tells no time; the clock was not compared',
    });
  const seconds = Math.round((clock.now() - date) / 1000);
  const text = {
    'zh-CN': `本机时钟与平台相差 ${seconds} 秒`,
    'en-US': `this machine's clock differs from the platform's by ${seconds} s`,
  };
  return Math.abs(seconds) * 1000 <= MOST_SKEW_MS
    ? passed(text)
    : failed(text, {
        'zh-CN': '启用 NTP（例如 timedatectl set-ntp true）：相差超过 300 秒的回调会被拒绝。',
        'en-US':
          'Switch NTP on (for example `timedatectl set-ntp true`): callbacks over 300 s off are refused.',
      });
}
