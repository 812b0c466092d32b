import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../src/package-root.ts';
import { programArguments } from '../support/built-programs.ts';

/** The real service as a process of its own, started by its own command. */
export interface ServiceProcess {
  readonly url: string;
  readonly pid: number;
  /** Everything it logged so far. */
  log(): string;
  /** SIGKILL: no drain, no goodbye. */
  kill(): Promise<void>;
  /** SIGTERM; gives the exit code. */
  stop(): Promise<number | null>;
}

/** `nodeFlags`: further ones for the runtime. */
export async function startServiceProcess(
  yaml: string,
  { nodeFlags = [] }: { readonly nodeFlags?: readonly string[] } = {},
): Promise<ServiceProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-e2e-'));
  const file = join(folder, 'countersign.yaml');
  await writeFile(file, yaml);
  const child = spawn(
    process.execPath,
    [...nodeFlags, ...(await programArguments('service')), 'serve', '--config', file],
    {
      cwd: packageRoot,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let log = '';
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const url = await new Promise<string>((resolve, reject) => {
    let listening = false;
    const read = (chunk: Buffer) => {
      log += chunk.toString();
      // A reader that looks through the whole log for ever falls behind, and the service waits for it.
      if (listening) return;
      const line = log.split('\n').find((candidate) => candidate.includes('"msg":"listening"'));
      listening = line !== undefined;
      if (line) resolve((JSON.parse(line) as { url: string }).url);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    void exited.then((code) => reject(new Error(`The service ended with ${code}:\n${log}`)));
  });
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    const code = await exited;
    await rm(folder, { recursive: true, force: true });
    return code;
  };
  void (child satisfies ChildProcess);
  return {
    url,
    pid: child.pid ?? 0,
    log: () => log,
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
  };
}
