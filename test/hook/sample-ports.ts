import type { ConnectorLogEntry, HookPorts } from '../../src/hook/hook-ports.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** Ports on which everything works and nothing is switched off; `written` collects the log. */
export function workingPorts(
  changes: Partial<HookPorts> = {},
): HookPorts & { readonly written: ConnectorLogEntry[] } {
  const written: ConnectorLogEntry[] = [];
  return {
    clock: new ManualClock(Date.UTC(2026, 10, 30, 16, 30)),
    locale: 'en-US',
    timeZone: 'Asia/Shanghai',
    people: { nameOf: (id) => (id === 'zhao.min' ? '赵敏' : null) },
    readOnly: { isReadOnly: async () => false },
    rateLimit: { take: async () => ({ allowed: true }) },
    connectorLog: {
      write: async (entry) => {
        written.push(entry);
      },
    },
    written,
    ...changes,
  };
}

const broken = () => {
  throw new Error('the database is down');
};

/** Ports that all fail, as when the database is away. */
export const brokenPorts = (): HookPorts => ({
  ...workingPorts(),
  clock: { now: broken, monotonic: broken, setTimer: broken },
  people: { nameOf: broken },
  readOnly: { isReadOnly: async () => broken() },
  rateLimit: { take: async () => broken() },
  connectorLog: { write: async () => broken() },
});
