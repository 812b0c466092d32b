import { createHash } from 'node:crypto';
import { z } from 'zod';
import { ToolSettledHook } from '../src/hook/hook.ts';
import type { ToolSettledContext } from '../src/hook/hook-context.ts';
import type { HookKind } from '../src/hook/hook-kind.ts';
import type { ConnectorLogEntry, ConnectorLogPort } from '../src/hook/hook-ports.ts';

/** What a configuration may leave out. Organization, connector, tool, agent and status are always kept. */
const OPTIONAL_FIELDS = [
  'person',
  'session',
  'run',
  'code',
  'durationMs',
  'argsDigest',
  'confirmation',
] as const;
type OptionalField = (typeof OPTIONAL_FIELDS)[number];

const options = z.strictObject({
  fields: z.array(z.enum(OPTIONAL_FIELDS)).default([...OPTIONAL_FIELDS]),
  /** Share of the calls without incident that are written; blocked, failed and unknown ones always are. */
  sample: z.number().min(0).max(1).default(1),
});
type Options = z.infer<typeof options>;

/**
 * Writes each settled call to the operators' log: who, what, how long, how it ended, under which digest; never an
 * argument. It is a convenience: the audit event of a call is written by the engine whether this hook is declared or
 * not, so a failure here is recorded and goes no further.
 */
export const auditLog: HookKind<Options> = {
  name: 'audit-log',
  options,
  create: (settings, ports) => new AuditLogHook(settings, ports.connectorLog),
};

class AuditLogHook extends ToolSettledHook {
  readonly name = 'audit-log';
  readonly onError = 'continue';
  readonly #fields: ReadonlySet<OptionalField>;
  readonly #sample: number;
  readonly #log: ConnectorLogPort;

  constructor(settings: Options, log: ConnectorLogPort) {
    super();
    this.#fields = new Set(settings.fields);
    this.#sample = settings.sample;
    this.#log = log;
  }

  override shouldTrigger({ settlement, metadata }: ToolSettledContext): boolean {
    const eventful = settlement.status !== 'succeeded' && settlement.status !== 'stubbed';
    return eventful || metadata.invocationId === null || shareOf(metadata.invocationId) < this.#sample;
  }

  async execute(context: ToolSettledContext): Promise<undefined> {
    const { settlement, metadata } = context;
    await this.#log.write({
      organization: metadata.organization,
      connector: metadata.connector,
      tool: context.toolName,
      agent: context.agentId,
      status: settlement.status,
      ...this.#kept({
        person: context.userId,
        session: context.sessionId,
        run: context.runId,
        code: settlement.code,
        durationMs: settlement.durationMs,
        argsDigest: settlement.argsDigest,
        confirmation: settlement.confirmationId,
      }),
    });
  }

  #kept(values: Pick<ConnectorLogEntry, OptionalField>): Pick<ConnectorLogEntry, OptionalField> {
    const kept = { ...values };
    for (const field of OPTIONAL_FIELDS) if (!this.#fields.has(field)) kept[field] = null;
    return kept;
  }
}

/** A number from 0 up to 1, evenly spread over the calls, and the same for one call whoever asks. */
const shareOf = (invocationId: string): number =>
  createHash('sha256').update(invocationId).digest().readUInt32BE(0) / 2 ** 32;
