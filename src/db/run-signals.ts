import type { RunSignals } from '../agent/run-store.ts';
import type { ConfirmationId, RunId } from '../ids.ts';
import type { Database } from './database.ts';

/** The notifications that runs live by. */
export const createRunSignals = ({ notifier }: Pick<Database, 'notifier'>): RunSignals => ({
  onRun: (listener) => notifier.subscribe('run', (id) => listener(id as RunId)),
  onCancel: (listener) => notifier.subscribe('cancel', (id) => listener(id as RunId)),
  onConfirmation: (listener) => notifier.subscribe('confirmation', (id) => listener(id as ConfirmationId)),
  onReconnect: (listener) => notifier.onReconnect(listener),
});
