import { sql } from 'drizzle-orm';
import { logHashOf, sha256Hex } from '../../src/audit/event-hash.ts';
import type { Connection } from '../../src/db/database.ts';
import { rowsOf } from '../../src/db/rows-of.ts';

/** One row of the record, as the attacker reads it. */
export interface Row {
  readonly id: string;
  readonly seq: number;
  readonly kind: string;
  readonly chain: string;
  readonly confirmation: string | null;
  readonly hash: string;
}

export interface Scene {
  readonly connection: Connection;
  readonly rows: readonly Row[];
  /** A number from 0 to `below` - 1, the same in every run of the test. */
  readonly random: (below: number) => number;
}

/** What verification has to say: the number of the first bad row; null where it has none. */
export interface Expected {
  readonly seq: number | null;
  readonly confirmation?: string | null;
}

export interface Tampering {
  readonly name: string;
  readonly apply: (scene: Scene) => Promise<Expected>;
}

const COLUMN_CHANGES = {
  id: sql`gen_random_uuid()`,
  at: sql`at + interval '1 microsecond'`,
  kind: sql`case kind when 'vote.refused' then 'card.failed' else 'vote.refused' end`,
  confirmation_id: sql`gen_random_uuid()`,
  run_id: sql`gen_random_uuid()`,
  actor_type: sql`case actor_type when 'key' then 'agent' else 'key' end`,
  actor_id: sql`actor_id || ' '`,
  actor_name: sql`'Mallory'`,
  data: sql`data || '{"status": "rejected", "index": 99}'`,
  chain: sql`chain || 'x'`,
  request_seq: sql`request_seq + 1000`,
  request_prev: sql`request_hash`,
  request_hash: sql`encode(sha256('x'), 'hex')`,
  canonical: sql`canonical || ' '`,
  insert_order: sql`1`,
  prev_hash: sql`hash`,
  hash: sql`encode(sha256('x'), 'hex')`,
} as const;

const pick = <T>(scene: Scene, items: readonly T[]): T => {
  const item = items[scene.random(items.length)];
  if (item === undefined) throw new Error('Nothing to pick from');
  return item;
};
const setColumn = (scene: Scene, row: Row, column: string, value: ReturnType<typeof sql>) =>
  scene.connection.execute(
    sql`update audit_events set ${sql.identifier(column)} = ${value} where id = ${row.id}`,
  );
const endOf = (scene: Scene): Row => pick(scene, scene.rows.slice(-1));
const isLastOfChain = (scene: Scene, row: Row) =>
  scene.rows.findLast(({ chain }) => chain === row.chain)?.seq === row.seq;

/** Writes `row` anew with another actor and every hash of the row itself made to fit. */
async function rewrite(scene: Scene, row: Row, options: { readonly link: boolean }) {
  const { connection } = scene;
  const [stored] = await rowsOf<{ canonical: string; prev_hash: string }>(
    connection,
    sql`select canonical, prev_hash from audit_events where id = ${row.id}`,
  );
  const canonical = (stored?.canonical ?? '').replace(/"name":"[^"]*"/, '"name":"Mallory"');
  const requestHash = sha256Hex(canonical);
  const prevHash = stored?.prev_hash ?? '';
  const hash = options.link ? logHashOf({ requestHash, prevHash, seq: row.seq }) : row.hash;
  await connection.execute(sql`
    update audit_events set actor_name = 'Mallory', canonical = ${canonical}, request_hash = ${requestHash}, hash = ${hash}
    where id = ${row.id}`);
  return { requestHash, hash };
}

/** Appends a copy of `row` behind the log, its link made to fit; the head only where `head` says so. */
async function replay(
  scene: Scene,
  row: Row,
  options: { readonly sequenced: boolean; readonly head: boolean },
) {
  const { connection } = scene;
  const end = endOf(scene);
  const seq = end.seq + 1;
  const [source] = await rowsOf<{ request_hash: string }>(
    connection,
    sql`select request_hash from audit_events where id = ${row.id}`,
  );
  const hash = logHashOf({ requestHash: source?.request_hash ?? '', prevHash: end.hash, seq });
  const place = options.sequenced ? sql`null, ${seq}, ${end.hash}, ${hash}` : sql`1, null, null, null`;
  await connection.execute(sql`alter table audit_events drop constraint audit_events_chain`);
  await connection.execute(sql`drop index audit_events_one_decision`);
  await connection.execute(sql`
    insert into audit_events (id, at, kind, confirmation_id, run_id, actor_type, actor_id, actor_name, data, chain,
      request_seq, request_prev, request_hash, canonical, insert_order, seq, prev_hash, hash)
    select gen_random_uuid(), at, kind, confirmation_id, run_id, actor_type, actor_id, actor_name, data, chain,
      request_seq, request_prev, request_hash, canonical, ${place}
    from audit_events where id = ${row.id}`);
  if (options.head) await connection.execute(sql`update audit_head set seq = ${seq}, hash = ${hash}`);
  return seq;
}

const decidedOf = (scene: Scene) => scene.rows.filter(({ kind }) => kind === 'confirmation.decided');
const requestedOf = (scene: Scene) => scene.rows.filter(({ kind }) => kind === 'confirmation.requested');

const changeRequest = (
  name: string,
  change: ReturnType<typeof sql>,
  eventsOf: (scene: Scene) => readonly Row[],
): Tampering => ({
  name: `request changed: ${name}`,
  async apply(scene) {
    const event = pick(scene, eventsOf(scene));
    await scene.connection.execute(sql`update confirmations set ${change} where id = ${event.confirmation}`);
    return event;
  },
});

/** Every way of touching the record that the test knows; each is applied to rows picked at random. */
export const TAMPERINGS: readonly Tampering[] = [
  ...Object.entries(COLUMN_CHANGES).map(([column, value]) => ({
    name: `column changed: ${column}`,
    async apply(scene: Scene) {
      const row = pick(
        scene,
        column === 'request_prev' || column === 'prev_hash' ? scene.rows.slice(1) : scene.rows,
      );
      await scene.connection.execute(sql`alter table audit_events drop constraint audit_events_sequenced`);
      await setColumn(scene, row, column, value);
      return { seq: row.seq };
    },
  })),
  {
    name: 'column changed: data, far behind the point',
    async apply(scene) {
      const row = pick(scene, requestedOf(scene));
      await setColumn(scene, row, 'data', sql`data || '{"count": 0.10000000000000000000000001}'`);
      return row;
    },
  },
  {
    name: 'column changed: seq',
    async apply(scene) {
      const row = pick(scene, scene.rows);
      await setColumn(scene, row, 'seq', sql`seq + 100000`);
      return { seq: row.seq };
    },
  },
  {
    name: 'column changed: seq and its link taken away',
    async apply(scene) {
      const row = pick(scene, scene.rows);
      await scene.connection.execute(sql`
        update audit_events set seq = null, prev_hash = null, hash = null, insert_order = 1 where id = ${row.id}`);
      return { seq: row.seq };
    },
  },
  {
    name: 'row rewritten with its own hash',
    async apply(scene) {
      const row = pick(scene, scene.rows);
      await rewrite(scene, row, { link: false });
      return row;
    },
  },
  {
    name: 'row rewritten with its own hash and its link',
    async apply(scene) {
      const row = pick(scene, scene.rows.slice(0, -1));
      await rewrite(scene, row, { link: true });
      // A row that fits in itself contradicts its neighbour: the head of its chain, or else the next event of the log.
      return { seq: isLastOfChain(scene, row) ? row.seq : row.seq + 1 };
    },
  },
  {
    name: 'last row rewritten with every hash and the head of the log',
    async apply(scene) {
      const row = endOf(scene);
      const { hash } = await rewrite(scene, row, { link: true });
      await scene.connection.execute(sql`update audit_head set hash = ${hash}`);
      return row;
    },
  },
  {
    name: 'row deleted',
    async apply(scene) {
      const row = pick(scene, scene.rows);
      await scene.connection.execute(sql`delete from audit_events where id = ${row.id}`);
      return { seq: row.seq };
    },
  },
  {
    name: 'end of the log deleted',
    async apply(scene) {
      const row = pick(scene, scene.rows.slice(-5));
      await scene.connection.execute(sql`delete from audit_events where seq >= ${row.seq}`);
      return { seq: row.seq };
    },
  },
  {
    name: 'end of the log deleted, and its head set back',
    async apply(scene) {
      const row = pick(scene, scene.rows.slice(-5));
      const before = scene.rows[row.seq - 2];
      await scene.connection.execute(sql`delete from audit_events where seq >= ${row.seq}`);
      await scene.connection.execute(
        sql`update audit_head set seq = ${before?.seq ?? 0}, hash = ${before?.hash ?? ''}`,
      );
      return { seq: null };
    },
  },
  {
    name: 'all rows of one chain deleted',
    async apply(scene) {
      const row = pick(scene, scene.rows);
      await scene.connection.execute(sql`delete from audit_events where chain = ${row.chain}`);
      return { seq: scene.rows.find(({ chain }) => chain === row.chain)?.seq ?? null };
    },
  },
  {
    name: 'two rows swapped in the log',
    async apply(scene) {
      const first = scene.random(scene.rows.length - 1);
      const [one, other] = [scene.rows[first], scene.rows[first + 1]];
      if (!one || !other) throw new Error('Nothing to swap');
      await setColumn(scene, one, 'seq', sql`-1`);
      await setColumn(scene, other, 'seq', sql`${one.seq}`);
      await setColumn(scene, one, 'seq', sql`${other.seq}`);
      return { seq: one.seq };
    },
  },
  {
    name: 'two rows swapped within their chain',
    async apply(scene) {
      const one = pick(scene, decidedOf(scene));
      const [vote] = scene.rows.filter(({ chain, kind }) => chain === one.chain && kind === 'vote.cast');
      if (!vote) throw new Error('No vote to swap with');
      await setColumn(scene, one, 'request_seq', sql`1000`);
      await setColumn(scene, vote, 'request_seq', sql`3`);
      await setColumn(scene, one, 'request_seq', sql`2`);
      return vote;
    },
  },
  {
    name: 'record truncated',
    async apply({ connection }) {
      await connection.execute(sql`truncate audit_events`);
      return { seq: 1 };
    },
  },
  {
    name: 'record truncated, and all heads with it',
    async apply({ connection }) {
      await connection.execute(sql`truncate audit_events, audit_chains`);
      await connection.execute(sql`update audit_head set seq = 0, hash = ''`);
      return { seq: null };
    },
  },
  {
    name: 'copied row replayed behind the log',
    async apply(scene) {
      const row = pick(scene, scene.rows);
      return { seq: await replay(scene, row, { sequenced: true, head: false }) };
    },
  },
  {
    name: 'copied row replayed behind the log, with its head',
    async apply(scene) {
      const row = pick(scene, scene.rows);
      return { seq: await replay(scene, row, { sequenced: true, head: true }) };
    },
  },
  {
    name: 'copied row replayed into the queue',
    async apply(scene) {
      const row = pick(scene, scene.rows);
      await replay(scene, row, { sequenced: false, head: false });
      return { seq: null, confirmation: row.confirmation };
    },
  },
  {
    name: 'head of the log changed',
    async apply(scene) {
      await scene.connection.execute(sql`update audit_head set hash = encode(sha256('x'), 'hex')`);
      return { seq: endOf(scene).seq };
    },
  },
  {
    name: 'head of the log deleted',
    async apply({ connection }) {
      await connection.execute(sql`delete from audit_head`);
      return { seq: null };
    },
  },
  {
    name: 'head of a chain changed',
    async apply(scene) {
      const row = pick(scene, scene.rows);
      await scene.connection.execute(sql`update audit_chains set head = 'x' where chain = ${row.chain}`);
      return { seq: scene.rows.findLast(({ chain }) => chain === row.chain)?.seq ?? null };
    },
  },
  {
    name: 'head of a chain deleted',
    async apply(scene) {
      const row = pick(scene, scene.rows);
      await scene.connection.execute(sql`delete from audit_chains where chain = ${row.chain}`);
      return { seq: scene.rows.find(({ chain }) => chain === row.chain)?.seq ?? null };
    },
  },
  changeRequest(
    'decision',
    sql`status = 'rejected', decision_code = 'rejected', execution_status = 'none',
    execute_by = null, executable_from = null`,
    decidedOf,
  ),
  changeRequest('who decided', sql`decided_by_id = 'mallory'`, decidedOf),
  changeRequest('name of who decided', sql`decided_by_name = 'Mallory'`, decidedOf),
  changeRequest('reason', sql`decision_reason = 'because'`, decidedOf),
  changeRequest('time of the decision', sql`decided_at = decided_at - interval '1 microsecond'`, decidedOf),
  changeRequest('window of the grant', sql`execute_by = execute_by + interval '1 day'`, decidedOf),
  changeRequest(
    'reopened',
    sql`status = 'pending', decided_at = null, decision_code = null, execution_status = 'none',
    execute_by = null, executable_from = null`,
    decidedOf,
  ),
  changeRequest('arguments', sql`args = args || '{"payee": "mallory"}'`, requestedOf),
  changeRequest('tool', sql`tool = 'bank__transfer'`, requestedOf),
  changeRequest('digest', sql`args_digest = 'sha256:00'`, requestedOf),
  {
    name: 'request deleted',
    async apply(scene) {
      const row = pick(scene, requestedOf(scene));
      await scene.connection.execute(sql`delete from confirmations where id = ${row.confirmation}`);
      return row;
    },
  },
  {
    name: 'request invented: approved, though nobody asked for it or decided it',
    async apply(scene) {
      const row = pick(scene, decidedOf(scene));
      const columns = sql`organization, status, tool, tool_writes, args, args_digest, verification_code,
        decisive_fields, agent, requester_id, requester_name, requester_named_by_agent, metadata, policy, approvers,
        created_at, decide_by, decided_at, decision_code, execution_status, executable_from, execute_by`;
      await scene.connection.execute(sql`
        insert into confirmations (id, ${columns})
        select gen_random_uuid(), ${columns} from confirmations where id = ${row.confirmation}`);
      return { seq: null };
    },
  },
  {
    name: 'grant marked as claimed',
    async apply(scene) {
      const row = pick(scene, decidedOf(scene));
      await scene.connection.execute(sql`
        update confirmations set execution_status = 'claimed', claimed_at = decided_at, send_by = decided_at
        where id = ${row.confirmation}`);
      return { seq: null, confirmation: row.confirmation };
    },
  },
];
