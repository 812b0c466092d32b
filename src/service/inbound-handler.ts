import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { type AuditRecorder, SYSTEM_ACTOR } from '../audit/audit-event.ts';
import type { Channel } from '../channel/channel.ts';
import type { InboundHandler } from '../channel/inbound-connection.ts';
import { answerEvent } from '../confirmation/answer-event.ts';
import type { TapHandler } from '../confirmation/handle-tap.ts';
import { callbackResults } from '../http/callback-results.ts';
import { loggedFault } from '../http/logged-fault.ts';
import { RefusalRecord } from '../http/refusal-record.ts';

/** What the callback route does for channels that are called, for one that connects by itself. */
export function createInboundHandler(input: {
  readonly channel: Channel;
  readonly tap: TapHandler;
  readonly audit: AuditRecorder;
  readonly metrics: Registry;
  readonly logger: Logger;
}): InboundHandler {
  const { channel, tap, logger } = input;
  const results = callbackResults(input.metrics);
  const refusals = new RefusalRecord(input.audit);
  return {
    handle(event) {
      results.inc({ channel: channel.id, result: 'event' });
      const eventId = event.type === 'tap' ? event.eventId : null;
      return answerEvent({
        channel,
        event,
        tap,
        onFault: (error) =>
          logger.error({ fault: loggedFault(error), channel: channel.id, eventId }, 'a verified tap failed'),
      });
    },
    async refuse(reason) {
      results.inc({ channel: channel.id, result: 'refused' });
      logger.warn({ channel: channel.id, reason }, 'callback refused');
      const recorded = refusals.record({
        kind: 'callback.refused',
        confirmation: null,
        run: null,
        actor: SYSTEM_ACTOR,
        data: { channel: channel.id, reason },
      });
      await recorded.catch((error: unknown) =>
        logger.error(
          { fault: loggedFault(error), channel: channel.id },
          'a refused callback is not on the record',
        ),
      );
    },
  };
}
