import { spawn } from 'node:child_process';
import type { ConfirmationId } from '../../src/ids.ts';
import type { Verdict } from '../../src/verdict.ts';
import { programArguments } from '../support/built-programs.ts';

/** What a second process is asked to do on the same database, at a given moment of the wall clock. */
export type WorkerCommand = {
  readonly id: ConfirmationId;
  /** Milliseconds since the epoch; every command of a round names the same. */
  readonly at: number;
} & (
  | {
      readonly kind: 'vote';
      readonly person: string;
      readonly verdict: Verdict;
      /** The chat it comes from; absent: the API. */
      readonly channel?: string;
    }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'claim' }
);

export interface WorkerAnswer {
  /** The kind of the outcome; for a refusal its code. */
  readonly outcome: string;
  /** Status of the request, and who closed it, as the outcome tells it. */
  readonly status: string | null;
  readonly by: string | null;
}

export interface WorkerProcess {
  /** Runs the commands side by side and gives their answers in order. */
  run(commands: readonly WorkerCommand[]): Promise<readonly WorkerAnswer[]>;
  stop(): Promise<void>;
}

/** Starts a process with a core of its own on `databaseUrl`. */
export async function startWorker(databaseUrl: string): Promise<WorkerProcess> {
  const child = spawn(process.execPath, [...(await programArguments('worker')), databaseUrl], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve());
    child.once('exit', (code) => reject(new Error(`The worker ended with ${code}`)));
  });
  const waiting: ((answers: readonly WorkerAnswer[]) => void)[] = [];
  child.on('message', (answers) => waiting.shift()?.(answers as readonly WorkerAnswer[]));
  return {
    run: (commands) =>
      new Promise((resolve) => {
        waiting.push(resolve);
        child.send(commands);
      }),
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve());
        child.disconnect();
      }),
  };
}
