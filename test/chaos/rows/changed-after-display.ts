import { connectPostgres } from '../../../src/db/connect-postgres.ts';
import type { ConfirmationId } from '../../../src/ids.ts';
import type { JsonObject } from '../../../src/json.ts';
import { type Core, person, startCore } from '../../support/core.ts';
import { runStatement } from '../../support/run-statement.ts';
import type { ChaosRow } from '../row.ts';

const TOOL = 'bank__transfer';
const ARGS = { amount: '68000.00', currency: 'CNY', payee: 'Acme', note: { order: 7, urgent: true } };

/** What a hook, a model or an agent may have made of the arguments between the card and the call. */
const CHANGED: readonly JsonObject[] = [
  { ...ARGS, amount: '68000.01' },
  { ...ARGS, amount: '68000.0' },
  { ...ARGS, amount: 68000 },
  { ...ARGS, payee: 'Acme ' },
  { ...ARGS, payee: 'Аcme' },
  { ...ARGS, payee: 'Acme\u200b' },
  { ...ARGS, note: { order: 7, urgent: 1 } },
  { ...ARGS, note: { order: 7 } },
  { ...ARGS, note: null },
  { ...ARGS, extra: null },
  { amount: '68000.00', currency: 'CNY', payee: 'Acme' },
  {},
  { args: ARGS },
];
/** The same call in other words: it has to run. */
const SAME: JsonObject = {
  note: { urgent: true, order: 7.0 },
  payee: 'Acme',
  currency: 'CNY',
  amount: '68000.00',
};

/** One way in which what would run is no longer what was shown; gives what the claim has to answer. */
const CHANGES: readonly ((
  scene: Scene,
) => Promise<{ readonly args: JsonObject; readonly expected: string }>)[] = [
  async ({ round }) => ({ args: CHANGED[round % CHANGED.length] ?? {}, expected: 'args_changed' }),
  async ({ core, round }) => {
    core.versions.set(TOOL, `sha256:${round}`);
    return { args: ARGS, expected: 'revoked' };
  },
  async ({ core }) => {
    core.versions.delete(TOOL);
    return { args: ARGS, expected: 'revoked' };
  },
  // The row itself, by somebody with the owner's rights: even with arguments to match.
  async ({ databaseUrl, id, round }) => {
    const args = CHANGED[round % CHANGED.length] ?? {};
    await runStatement(
      databaseUrl,
      `begin; alter table confirmations disable trigger user;
         update confirmations set args = '${JSON.stringify(args)}'::jsonb where id = '${id}';
         alter table confirmations enable trigger user; commit`,
    );
    return { args: round % 2 === 0 ? args : ARGS, expected: 'args_changed' };
  },
];

interface Scene {
  readonly core: Core;
  readonly databaseUrl: string;
  readonly id: ConfirmationId;
  readonly round: number;
}

export const changedAfterDisplay: ChaosRow = {
  id: 'F10',
  title: 'arguments, tool version or the stored row changed after the card was shown',
  volume: { usual: 200, full: 1_000 },
  async run({ databaseUrl, rounds }) {
    const database = await connectPostgres({ url: databaseUrl });
    const core = startCore(database);
    const counts = { lost: 0, letIn: 0, doubled: 0 };
    for (let round = 0; round < rounds; round += 1) {
      core.versions.set(TOOL, 'sha256:shown');
      const id = await core.pending(ARGS, { metadata: { toolVersion: 'sha256:shown' } });
      await core.service.decide({
        id,
        person: person('li.wei'),
        verdict: 'approve',
        reason: null,
        argsDigest: null,
        surface: { kind: 'api' },
      });
      const claim = async (args: JsonObject) => {
        const actor = { type: 'key', id: 'procurement', agent: null } as const;
        const outcome = await core.service.claim({ id, actor, args });
        return outcome.kind === 'refused' ? outcome.code : outcome.kind;
      };
      const change = CHANGES[round % CHANGES.length];
      if (!change) continue;
      const { args, expected } = await change({ core, databaseUrl, id, round });
      const answered = await claim(args);
      if (answered === 'claimed') counts.letIn += 1;
      else if (answered !== expected) counts.lost += 1;
      // The unchanged call still has its grant where only the caller's words were other ones; then never again.
      const callersWordsOnly = round % CHANGES.length === 0;
      const unchanged = await claim(SAME);
      if (unchanged === 'claimed' && !callersWordsOnly) counts.letIn += 1;
      if (unchanged !== 'claimed' && callersWordsOnly) counts.lost += 1;
      if ((await claim(SAME)) === 'claimed') counts.doubled += 1;
    }
    core.stop();
    await database.close();
    return { tried: rounds, ...counts, note: 'every changed call was refused, every unchanged one ran once' };
  },
};
