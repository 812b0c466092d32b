import { z } from 'zod';
import type { AuditActor } from '../../audit/audit-event.ts';
import type { RefusalRecorder } from '../../confirmation/refused-attempt.ts';
import { CountersignError } from '../../errors.ts';
import { ACCESS } from '../access.ts';
import { principalOf } from '../authentication.ts';
import type { HttpApp } from '../http-app.ts';
import type { Principal } from '../principal.ts';
import type { ReadOnlyState, ReadOnlySwitch } from '../read-only-switch.ts';
import { recordingRefusals } from '../refused-act.ts';
import { name } from '../schemas/field.ts';
import { BODY_PROBLEMS, problems } from '../schemas/problem-schema.ts';

const ORGANIZATION = 'organization';

const stateSchema = z.object({
  organization: z.boolean(),
  connectors: z.array(z.string()).meta({ description: 'Connectors switched to read-only by themselves.' }),
});

/** `GET` and `PUT /v1/read-only`: the switch that stops every writing tool. */
export function readOnlyRoutes(
  app: HttpApp,
  ports: {
    readonly readOnly: ReadOnlySwitch;
    readonly connectors: ReadonlySet<string>;
    readonly refusals: RefusalRecorder;
  },
): void {
  app.get(
    '/read-only',
    {
      config: { access: ACCESS.readReadOnly },
      schema: {
        summary: 'What is switched to read-only',
        tags: ['operations'],
        response: { 200: stateSchema, ...problems() },
      },
    },
    async () => stateJson(await ports.readOnly.get()),
  );

  app.put(
    '/read-only',
    {
      config: { access: ACCESS.switchReadOnly },
      errorHandler: recordingRefusals('read_only', { ...ports, confirmations: null }),
      schema: {
        summary: 'Switch the organization or one connector to read-only, or back',
        tags: ['operations'],
        body: z.strictObject({
          scope: name
            .default(ORGANIZATION)
            .meta({ description: '`organization`, or the id of a connector.' }),
          readOnly: z.boolean(),
        }),
        response: { 200: stateSchema, ...problems(...BODY_PROBLEMS) },
      },
    },
    async (request) => {
      const { scope, readOnly } = request.body;
      if (scope !== ORGANIZATION && !ports.connectors.has(scope)) {
        throw new CountersignError(
          'invalid_request',
          `scope: must be "${ORGANIZATION}" or a connector: ${[...ports.connectors].join(', ') || 'there is none'}`,
        );
      }
      const state = await ports.readOnly.set({
        scope: scope === ORGANIZATION ? { kind: 'organization' } : { kind: 'connector', id: scope },
        readOnly,
        actor: auditActor(principalOf(request)),
      });
      return stateJson(state);
    },
  );
}

const stateJson = ({ organization, connectors }: ReadOnlyState) => ({
  organization,
  connectors: [...connectors],
});

const auditActor = (principal: Principal): AuditActor =>
  principal.type === 'person'
    ? { type: 'person', id: principal.person.id, name: principal.person.name }
    : { type: 'key', id: principal.id, name: principal.id };
