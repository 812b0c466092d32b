import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Channel } from '../channel/channel.ts';
import type { DeliveryMetrics } from '../channel/delivery-metrics.ts';

/** What the parts of the service count; `/metrics` shows all of it. */
export interface ServiceMetrics {
  readonly registry: Registry;
  readonly deliveries: DeliveryMetrics;
  /** Faults that were survived: a notification or a poll that failed, a sweep that has to run again. */
  readonly survived: (part: 'notify' | 'waiter' | 'sweeper' | 'sequencer') => void;
  readonly listener: (connected: boolean) => void;
  /** Values that are read when somebody looks. */
  readonly observe: (name: string, help: string, read: () => number) => void;
  /** The connections that channels keep to their platforms by themselves. */
  readonly observeConnections: (channels: readonly Channel[]) => void;
}

export function createMetrics(): ServiceMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const deliveries = new Counter({
    name: 'countersign_deliveries_total',
    help: 'Tries to send or change a card, by channel and result',
    labelNames: ['channel', 'result'] as const,
    registers,
  });
  const survived = new Counter({
    name: 'countersign_survived_faults_total',
    help: 'Faults that a poll or a retry makes up for, by part',
    labelNames: ['part'] as const,
    registers,
  });
  const listener = new Gauge({
    name: 'countersign_listener_connected',
    help: '1 while the LISTEN connection stands; without it, waits end by polling',
    registers,
  });
  const lost = new Counter({
    name: 'countersign_listener_lost_total',
    help: 'How often the LISTEN connection was lost',
    registers,
  });
  return {
    registry,
    deliveries: { delivered: ({ channel, result }) => deliveries.inc({ channel, result }) },
    survived: (part) => survived.inc({ part }),
    listener(connected) {
      listener.set(connected ? 1 : 0);
      if (!connected) lost.inc();
    },
    observe(name, help, read) {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
    },
    observeConnections(channels) {
      const connected = channels.flatMap(({ id, connection }) => (connection ? [{ id, connection }] : []));
      new Gauge({
        name: 'countersign_channel_connections',
        help: 'Connections to the chat platform that stand, by channel; without any, no tap arrives',
        labelNames: ['channel'] as const,
        registers,
        collect() {
          for (const { id, connection } of connected) this.set({ channel: id }, connection.status().open);
        },
      });
      new Counter({
        name: 'countersign_channel_reconnects_total',
        help: 'Connections to the chat platform that were opened anew, by channel',
        labelNames: ['channel'] as const,
        registers,
        collect() {
          // The channel counts; what is shown is its count.
          this.reset();
          for (const { id, connection } of connected)
            this.inc({ channel: id }, connection.status().reconnects);
        },
      });
    },
  };
}
