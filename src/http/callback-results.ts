import { Counter, type Registry } from 'prom-client';

const NAME = 'countersign_callbacks_total';

/** Counts what came in from the chat platforms, over HTTP and over connections alike; one counter a registry. */
export function callbackResults(registry: Registry): Counter<'channel' | 'result'> {
  const known = registry.getSingleMetric(NAME);
  if (known instanceof Counter) return known;
  return new Counter({
    name: NAME,
    help: 'Callbacks of the chat platforms, by channel and what they were.',
    labelNames: ['channel', 'result'],
    registers: [registry],
  });
}
