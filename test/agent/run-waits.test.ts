import { expect, it } from 'vitest';
import { RunStop } from '../../src/agent/run-stop.ts';
import { type RunWait, RunWaits } from '../../src/agent/run-waits.ts';
import { systemClock } from '../../src/clock.ts';
import { newConfirmationId } from '../../src/ids.ts';

it.each([
  ['before its signal aborts', false, 1],
  ['after its signal has aborted, while it still reads what has to be withdrawn', true, 0],
])('a call counts as waiting %s', async (_when, aborts, parked) => {
  const timers = new Set<() => void>();
  const tried: (readonly RunWait[])[] = [];
  const waits = new RunWaits({
    parkAfterMs: 0,
    clock: {
      ...systemClock,
      setTimer(_afterMs, run) {
        timers.add(run);
        return () => timers.delete(run);
      },
    },
    park: async (wanted) => {
      tried.push(wanted);
      return false;
    },
    onParked: () => {},
    place: { enter: async () => {}, leave: () => {} },
  });
  const wait = { kind: 'decision', confirmation: newConfirmationId() } as const;
  const stop = new AbortController();
  let read: () => void = () => {};
  const call = waits.whileOpen(() =>
    waits.during(wait, stop.signal, () => new Promise<void>((resolve) => (read = resolve))),
  );
  if (aborts) stop.abort(new RunStop('cancelled'));
  for (const run of timers) run();
  read();
  await call;
  expect(tried).toHaveLength(parked);
});
