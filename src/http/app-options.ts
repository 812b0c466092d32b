import type { FastifyBaseLogger } from 'fastify';
import type { Registry } from 'prom-client';
import type { CallAuthorizer, RunService } from '../agent/run-service.ts';
import type { AuditRecorder } from '../audit/audit-event.ts';
import type { AuditReader } from '../audit/audit-reader.ts';
import type { Channel } from '../channel/channel.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { CardRecords } from '../confirmation/card-record.ts';
import type { ConfirmationService } from '../confirmation/confirmation-service.ts';
import type { Freezes } from '../confirmation/freeze.ts';
import type { TapHandler } from '../confirmation/handle-tap.ts';
import type { PersonDirectory } from '../confirmation/person-directory.ts';
import type { RefusalRecorder } from '../confirmation/refused-attempt.ts';
import type { ChannelId } from '../ids.ts';
import type { ReadOnlySwitch } from './read-only-switch.ts';
import type { Readiness } from './readiness.ts';

/** Everything the HTTP surface reaches, handed in by the composition root. */
export interface AppOptions {
  readonly config: Config;
  readonly confirmations: ConfirmationService;
  readonly authorizer: CallAuthorizer;
  readonly runs: RunService;
  readonly tap: TapHandler;
  readonly channels: ReadonlyMap<ChannelId, Channel>;
  readonly audit: AuditReader;
  readonly auditRecorder: AuditRecorder;
  readonly cards: CardRecords;
  readonly refusals: RefusalRecorder;
  readonly readOnly: ReadOnlySwitch;
  readonly freezes: Freezes;
  readonly readiness: Readiness;
  readonly people: PersonDirectory;
  /** Measurements of this app are registered here; `/metrics` shows all of it. */
  readonly metrics: Registry;
  readonly clock: Clock;
  readonly logger: FastifyBaseLogger;
}
