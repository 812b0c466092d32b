import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface DemoProcess {
  /** Everything printed so far, both streams. */
  output(): string;
  /** Resolves with the exit code. */
  readonly exited: Promise<number | null>;
  /** Asks it to stop, as Ctrl-C does. */
  interrupt(): void;
  /** Data folders that it left behind. */
  leftovers(): Promise<string[]>;
  /** Kills it where it still runs, and removes its temporary folder. */
  cleanUp(): Promise<void>;
}

/** The demo as a process of its own, in English, with a temporary folder of its own. */
export async function startDemoProcess(args: readonly string[]): Promise<DemoProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'demo-test-'));
  const { OPENAI_BASE_URL: _url, OPENAI_API_KEY: _key, MODEL: _model, ...environment } = process.env;
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', 'demo', ...args], {
    cwd: new URL('../../', import.meta.url),
    env: { ...environment, TMPDIR: folder, DEMO_LOCALE: 'en-US' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const exited = new Promise<number | null>((resolve) => {
    child.once('close', resolve);
  });
  return {
    output: () => output,
    exited,
    interrupt: () => child.kill('SIGINT'),
    leftovers: async () => (await readdir(folder)).filter((name) => name.startsWith('countersign-demo-')),
    async cleanUp() {
      if (child.exitCode === null) child.kill('SIGKILL');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
