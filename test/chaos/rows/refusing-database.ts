import pg from 'pg';
import { chainOf } from '../../../src/audit/event-hash.ts';
import { connectPostgres } from '../../../src/db/connect-postgres.ts';
import type { Database } from '../../../src/db/database.ts';
import type { ConfirmationId } from '../../../src/ids.ts';
import { type Core, person, startCore } from '../../support/core.ts';
import { closingEvents } from '../closing-events.ts';
import type { ChaosRow } from '../row.ts';

const ARGS = { amount: '68000.00', currency: 'CNY', payee: 'Acme' };
const POOL_SIZE = 8;
/** Longer than `lock_timeout` and `deadlock_timeout`. */
const HELD_MS = 2_600;

interface Scene {
  readonly database: Database;
  readonly databaseUrl: string;
  readonly core: Core;
}

/** What the database does while votes and claims come in; the returned function ends it. */
const FAULTS: readonly {
  readonly name: string;
  begin(scene: Scene, ids: Ids): Promise<() => Promise<void>>;
}[] = [
  { name: 'lock timeout', begin: (scene, ids) => holdRows(scene, [...ids.pending, ...ids.approved]) },
  { name: 'deadlock', begin: (scene, ids) => deadlock(scene, ids) },
  { name: 'serialization failure', begin: (scene) => allConnections(scene, 'isolation', 'serializable') },
  { name: 'read-only server', begin: (scene) => allConnections(scene, 'read_only', 'on') },
  { name: 'pool exhausted', begin: (scene) => exhaustPool(scene) },
];

export const refusingDatabase: ChaosRow = {
  id: 'F16',
  title:
    'lock timeout, deadlock, serialization failure, read-only server, exhausted pool under votes and claims',
  volume: { usual: 6, full: 100 },
  async run({ databaseUrl, rounds }) {
    const database = await connectPostgres({ url: databaseUrl, poolSize: POOL_SIZE });
    const core = startCore(database);
    const scene: Scene = { database, databaseUrl, core };
    const counts = { lost: 0, doubled: 0, letIn: 0 };
    const notes: string[] = [];
    for (const fault of FAULTS) {
      const ids = await prepare(core, rounds);
      const end = await fault.begin(scene, ids);
      const outcomes = await attempt(core, ids);
      await end();
      await judge(scene, outcomes, counts);
      const refused = outcomes.filter(({ voted, claimed }) => voted === null || claimed === null).length;
      notes.push(`${fault.name}: ${refused} of ${rounds} refused`);
    }
    core.stop();
    await database.close();
    return { tried: FAULTS.length * rounds, ...counts, note: notes.join('; ') };
  },
};

interface Ids {
  readonly pending: readonly ConfirmationId[];
  readonly approved: readonly ConfirmationId[];
}

async function prepare(core: Core, rounds: number): Promise<Ids> {
  const pending: ConfirmationId[] = [];
  const approved: ConfirmationId[] = [];
  for (let round = 0; round < rounds; round += 1) {
    pending.push(await core.pending(ARGS));
    const id = await core.pending(ARGS);
    await vote(core, id);
    approved.push(id);
  }
  return { pending, approved };
}

const vote = (core: Core, id: ConfirmationId) =>
  core.service.decide({
    id,
    person: person('li.wei'),
    verdict: 'approve',
    reason: null,
    argsDigest: null,
    surface: { kind: 'api' },
  });

const claim = (core: Core, id: ConfirmationId) =>
  core.service.claim({
    id,
    actor: { type: 'key', id: 'procurement', agent: null },
    args: ARGS,
  });

/** Null: it threw, which every surface tells as "not recorded" and no one as yes. */
interface Outcome {
  readonly pending: ConfirmationId;
  readonly approved: ConfirmationId;
  readonly voted: string | null;
  readonly claimed: string | null;
}

const attempt = (core: Core, { pending, approved }: Ids): Promise<Outcome[]> =>
  Promise.all(
    pending.map(async (id, index) => {
      const granted = approved[index] as ConfirmationId;
      const [voted, claimed] = await Promise.all([
        vote(core, id).then(
          ({ kind }) => kind,
          () => null,
        ),
        claim(core, granted).then(
          ({ kind }) => kind,
          () => null,
        ),
      ]);
      return { pending: id, approved: granted, voted, claimed };
    }),
  );

/** What was answered is what is stored, what was refused is as it was, and both work again without a restart. */
async function judge(
  { database, core }: Scene,
  outcomes: readonly Outcome[],
  counts: { lost: number; doubled: number; letIn: number },
): Promise<void> {
  for (const { pending, approved, voted, claimed } of outcomes) {
    const asked = await core.service.get(pending);
    if (voted === null && asked?.status !== 'pending') counts.letIn += 1;
    if (voted !== null && (voted !== 'recorded' || asked?.status !== 'approved')) counts.lost += 1;
    const granted = await core.service.get(approved);
    const execution = granted?.status === 'approved' ? granted.execution.status : null;
    if (claimed === null && execution !== 'unclaimed') counts.letIn += 1;
    if (claimed !== null && (claimed !== 'claimed' || execution !== 'claimed')) counts.lost += 1;

    const votedAgain = await vote(core, pending);
    if (votedAgain.kind !== (voted === null ? 'recorded' : 'repeated')) counts.lost += 1;
    const claimedAgain = await claim(core, approved);
    if ((claimedAgain.kind === 'claimed') !== (claimed === null)) counts.doubled += 1;
    for (const id of [pending, approved]) if ((await closingEvents(database, id)) !== 1) counts.doubled += 1;
  }
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

/** Somebody else holds the rows for longer than a vote waits. */
async function holdRows({ databaseUrl }: Scene, ids: readonly ConfirmationId[]) {
  const holder = await connected(databaseUrl);
  await holder.query('begin');
  await holder.query('select 1 from confirmations where id = any($1) for update', [ids]);
  return () => holder.end();
}

/** Somebody holds the chains of the record, and then wants the rows that votes hold. */
async function deadlock({ databaseUrl }: Scene, { pending, approved }: Ids) {
  const rivals = await Promise.all(
    [...pending, ...approved].slice(0, POOL_SIZE).map(async (id) => {
      const rival = await connected(databaseUrl);
      await rival.query('begin');
      // The votes find the deadlock first, and are the ones that give way.
      await rival.query("set local deadlock_timeout = '10s'");
      await rival.query('select 1 from audit_chains where chain = $1 for update', [
        chainOf({ confirmation: id, run: null }),
      ]);
      const wants = new Promise((resolve) => setTimeout(resolve, 500)).then(() =>
        rival.query('select 1 from confirmations where id = $1 for update', [id]),
      );
      return { rival, wanted: wants.catch(() => {}) };
    }),
  );
  return async () => {
    for (const { rival, wanted } of rivals) {
      await wanted;
      await rival.end();
    }
  };
}

/** A default of the whole database, taken up by every connection of the service. */
async function allConnections({ databaseUrl }: Scene, setting: 'isolation' | 'read_only', value: string) {
  const admin = await connected(databaseUrl);
  const database = new URL(databaseUrl).pathname.slice(1);
  const reconnect = () =>
    admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'countersign'`,
    );
  await admin.query(`alter database ${database} set default_transaction_${setting} = '${value}'`);
  await reconnect();
  return async () => {
    // Not reconnected this time: connections of the old kind have to be found out and replaced by the service.
    await admin.query(`alter database ${database} reset default_transaction_${setting}`);
    await admin.end();
  };
}

/** Every connection of the pool is busy for longer than a vote waits for one. */
async function exhaustPool({ database }: Scene) {
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const busy = Array.from({ length: POOL_SIZE }, () => database.transaction(() => held).catch(() => {}));
  setTimeout(letGo, HELD_MS * 5);
  return async () => {
    letGo();
    await Promise.all(busy);
  };
}
