import { createInterface } from 'node:readline';
import { httpUrl } from '../config/settings.ts';
import { packageRoot } from '../package-root.ts';
import { FAULT_KINDS, type LinedUpFaults, type MetFault } from '../standin/lined-up-faults.ts';
import { type DrawnPlatform, startStandinPage } from '../standin/page/start-standin-page.ts';
import { FEISHU_STANDIN, playFeishu } from './standin-feishu.ts';
import { playSlack, SLACK_STANDIN } from './standin-slack.ts';

/** A platform that is played on the terminal and drawn on a page. */
export interface PlayedPlatform extends DrawnPlatform {
  /** A `channels[]` entry, and accounts for `people`, to paste. */
  readonly settings: string;
  /** What stands in its chats, each message with a number to tap it by. */
  show(): readonly string[];
  /** One line for what came of it. */
  tap(input: { readonly message: number; readonly action: string; readonly person: string }): Promise<string>;
  stop(): Promise<void>;
}

/** Who plays it, and the channel's `mode`s: the platform calls the service, or the service connects to it. */
const PLATFORMS = {
  slack: { play: playSlack, people: SLACK_STANDIN.people, modes: { calls: 'http', connects: 'socket' } },
  feishu: {
    play: playFeishu,
    people: FEISHU_STANDIN.people,
    modes: { calls: 'webhook', connects: 'long-connection' },
  },
} as const;

/**
 * `countersign standin slack|feishu`: one workspace with one chat on 127.0.0.1, with fixed credentials that open
 * nothing else, drawn on a page of its own. Lines on standard input tap: `approve 1 U0LIWEI`; `fault 429` lines up
 * what goes wrong with the next call; `cut` breaks the service's connections. Ends with the input, a signal, or its
 * time.
 */
export async function standin(input: {
  readonly platform: string;
  /** Of the channel; absent: the one in which the platform calls the service. */
  readonly mode?: string;
  readonly port: number;
  readonly service: string;
  readonly minutes: number;
}): Promise<number> {
  const { platform, port, minutes } = input;
  if (platform !== 'slack' && platform !== 'feishu') {
    console.error(`There is no stand-in for ${platform}; there is one for slack and feishu.`);
    return 1;
  }
  const { play, people, modes } = PLATFORMS[platform];
  const { mode = modes.calls } = input;
  if (mode !== modes.calls && mode !== modes.connects) {
    console.error(`${platform} has no mode ${mode}; it has ${modes.calls} and ${modes.connects}.`);
    return 1;
  }
  const service = httpUrl.safeParse(input.service);
  if (!service.success) {
    console.error(
      `--service is ${JSON.stringify(input.service)}; it has to be the http:// or https:// address at which the service listens, like http://127.0.0.1:8787.`,
    );
    return 1;
  }
  const played = await play({ port, service: service.data, connects: mode === modes.connects });
  const page = await startStandinPage(played, packageRoot);
  const orders = [
    `approve|reject <number> <${people.join(', ')}>`,
    `fault <${FAULT_KINDS.join(', ')}> [call]`,
    ...(played.cut ? ['cut'] : []),
  ];
  console.log(
    `${played.settings}\nOpen ${page.url} to see the chat.\nPlays ${platform} for ${minutes} minutes. Type: ${orders.join('; or ')}`,
  );
  const show = () => console.log(played.show().join('\n'));
  const unsubscribe = [played.onChange(show), played.faults.onChange(tellOfFault)];
  const lines = createInterface({ input: process.stdin });
  const end = () => lines.close();
  const timer = setTimeout(end, minutes * 60_000);
  process.once('SIGINT', end);
  process.once('SIGTERM', end);
  for await (const line of lines) {
    if (line.trim() === '') continue;
    console.log(
      await answerTo(line, played).catch((error: unknown) =>
        error instanceof Error ? error.message : String(error),
      ),
    );
  }
  clearTimeout(timer);
  for (const stopTelling of unsubscribe) stopTelling();
  await page.stop();
  await played.stop();
  return 0;
}

function tellOfFault(met: MetFault | null): void {
  if (met !== null) console.log(`${met.call} met ${met.kind}.`);
}

/** What one line on standard input does. */
async function answerTo(line: string, { cut, tap, faults }: PlayedPlatform): Promise<string> {
  const [action = '', ...rest] = line.trim().split(/\s+/);
  if (action === 'cut')
    return cut === null
      ? 'There are no connections in this mode.'
      : `${cut()} connections are cut; the service opens others.`;
  if (action === 'fault') return lineUp(rest, faults);
  const [number, person] = rest;
  if (number === undefined || person === undefined) return 'Type for example: approve 1 and a person.';
  return tap({ message: Number(number), action, person });
}

function lineUp([wanted, call]: readonly string[], faults: LinedUpFaults): string {
  const kind = FAULT_KINDS.find((one) => one === wanted);
  if (kind === undefined) return `There is no fault ${wanted}; there are: ${FAULT_KINDS.join(', ')}`;
  if (call !== undefined && !faults.calls.includes(call))
    return `There is no call ${call}; there are: ${faults.calls.join(', ')}`;
  faults.add({ kind, call: call ?? null });
  return `${call === undefined ? 'The next call' : `The next ${call}`} meets ${kind}.`;
}
