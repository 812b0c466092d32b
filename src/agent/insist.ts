import { type Clock, sleep } from '../clock.ts';
import { LeaseLost } from './run-record.ts';

const ATTEMPTS = 5;

/** Tries a write that may be repeated a few times, for three seconds in all; gives up at once where another worker has the run. */
export async function insist<T>(clock: Clock, write: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      if (error instanceof LeaseLost || attempt === ATTEMPTS) throw error;
      await sleep(clock, 100 * 2 ** attempt);
    }
  }
}
