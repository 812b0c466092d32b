import type { ConfirmationRequest } from '../../src/confirmation/confirmation-request.ts';
import { connectPostgres } from '../../src/db/connect-postgres.ts';
import { agentId, channelId } from '../../src/ids.ts';
import { type Core, person, startCore } from '../support/core.ts';
import type { WorkerAnswer, WorkerCommand } from './worker-process.ts';

const ACTOR = { type: 'key', id: 'procurement', agent: agentId('procurement') } as const;

const database = await connectPostgres({ url: process.argv[2] ?? '', poolSize: 24 });
const core = startCore(database);

process.on('message', async (commands: readonly WorkerCommand[]) => {
  process.send?.(await Promise.all(commands.map(run)));
});
process.on('disconnect', async () => {
  core.stop();
  await database.close();
  process.exit(0);
});
process.send?.('ready');

async function run(command: WorkerCommand): Promise<WorkerAnswer> {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, command.at - Date.now())));
  const outcome = await perform(core, command);
  const request = 'request' in outcome ? outcome.request : null;
  return {
    outcome: outcome.kind === 'refused' ? outcome.code : outcome.kind,
    status: request?.status ?? null,
    by: closedBy(request),
  };
}

function perform({ service }: Core, command: WorkerCommand) {
  switch (command.kind) {
    case 'vote':
      return service.decide({
        id: command.id,
        person: person(command.person),
        verdict: command.verdict,
        reason: null,
        argsDigest: null,
        surface: command.channel ? { kind: 'channel', id: channelId(command.channel) } : { kind: 'api' },
      });
    case 'cancel':
      return service.cancel({ id: command.id, actor: ACTOR, reason: null });
    case 'claim':
      return service.claim({
        id: command.id,
        actor: ACTOR,
        args: { amount: '68000.00', currency: 'CNY', payee: 'Acme' },
      });
  }
}

const closedBy = (request: ConfirmationRequest | null): string | null =>
  request === null || request.status === 'pending' ? null : (request.decision.by?.id ?? request.status);
