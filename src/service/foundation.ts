import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { ArgumentMask } from '../confirmation/argument-mask.ts';
import type { Database } from '../db/database.ts';
import type { ServiceMetrics } from './metrics.ts';

/** What every part of a service is built on. */
export interface Foundation {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: ServiceMetrics;
  readonly database: Database;
  /** What nobody is shown of arguments. */
  readonly mask: ArgumentMask;
  /** What runs, in the order it was started; stopped in the reverse order. */
  readonly started: { stop(): Promise<void> | void }[];
}
