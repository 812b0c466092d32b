import { createInterface } from 'node:readline';
import { FEISHU_STANDIN, playFeishu } from './standin-feishu.ts';
import { playSlack, SLACK_STANDIN } from './standin-slack.ts';

/** A platform that is played on the terminal. */
export interface PlayedPlatform {
  /** A `channels[]` entry, and accounts for `people`, to paste. */
  readonly settings: string;
  /** What stands in its chats, each message with a number to tap it by. */
  show(): readonly string[];
  /** One line for what came of it. */
  tap(input: { readonly message: number; readonly action: string; readonly person: string }): Promise<string>;
  onChange(listener: () => void): () => void;
  stop(): Promise<void>;
}

const PLATFORMS = { slack: playSlack, feishu: playFeishu } as const;

/**
 * `countersign standin slack|feishu`: one workspace with one chat on 127.0.0.1, with fixed credentials that open
 * nothing else. Lines on standard input tap: `approve 1 U0LIWEI`. Ends with the input, a signal, or its time.
 */
export async function standin(input: {
  readonly platform: string;
  readonly port: number;
  readonly service: string;
  readonly minutes: number;
}): Promise<number> {
  const { platform, port, service, minutes } = input;
  if (platform !== 'slack' && platform !== 'feishu') {
    console.error(`There is no stand-in for ${platform}; there is one for slack and feishu.`);
    return 1;
  }
  const played = await PLATFORMS[platform]({ port, service });
  const people = (platform === 'slack' ? SLACK_STANDIN : FEISHU_STANDIN).people.join(', ');
  console.log(
    `${played.settings}\nPlays ${platform} for ${minutes} minutes. Type: approve|reject <number> <${people}>`,
  );
  const show = () => console.log(played.show().join('\n'));
  const unsubscribe = played.onChange(show);
  const lines = createInterface({ input: process.stdin });
  const end = () => lines.close();
  const timer = setTimeout(end, minutes * 60_000);
  process.once('SIGINT', end);
  process.once('SIGTERM', end);
  for await (const line of lines) {
    const [action, number, person] = line.trim().split(/\s+/);
    if (!action) continue;
    const said =
      number === undefined || person === undefined
        ? 'Type for example: approve 1 and a person.'
        : await played
            .tap({ message: Number(number), action, person })
            .catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
    console.log(said);
  }
  clearTimeout(timer);
  unsubscribe();
  await played.stop();
  return 0;
}
