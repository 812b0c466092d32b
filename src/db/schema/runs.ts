import {
  bigint,
  boolean,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core';
import type { ChatMessage } from '../../agent/chat-message.ts';
import type { PlanNode } from '../../agent/plan.ts';
import type { InvocationStatus, Run, RunEvent, RunStatus } from '../../agent/run.ts';
import type { InvocationPhase } from '../../agent/run-record.ts';
import type { HookChain } from '../../hook/hook-chain.ts';
import type { SideEffect } from '../../hook/side-effect.ts';
import type { AgentId, ConfirmationId, InvocationId, PersonId, RunId } from '../../ids.ts';
import type { JsonObject } from '../../json.ts';

const time = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' });

export const runWorkers = pgTable('run_workers', {
  owner: text('owner').primaryKey(),
  leaseUntil: time('lease_until').notNull(),
});

export const runs = pgTable('runs', {
  id: uuid('id').$type<RunId>().primaryKey(),
  organization: text('organization').notNull(),
  agent: text('agent').$type<AgentId>().notNull(),
  executor: text('executor').$type<Run['executor']>().notNull(),
  status: text('status').$type<RunStatus>().notNull(),
  input: text('input').notNull(),
  plan: jsonb('plan').$type<readonly PlanNode[]>(),
  output: text('output'),
  errorCode: text('error_code'),
  errorMessage: text('error_message'),
  session: text('session').notNull(),
  requesterId: text('requester_id').$type<PersonId>(),
  requesterName: text('requester_name'),
  requesterNamedByAgent: boolean('requester_named_by_agent').notNull(),
  evaluation: boolean('evaluation').notNull(),
  hookChain: jsonb('hook_chain').$type<HookChain>(),
  apiKeyId: text('api_key_id'),
  parentRun: uuid('parent_run').$type<RunId>(),
  parentInvocation: uuid('parent_invocation').$type<InvocationId>(),
  depth: integer('depth').notNull().default(0),
  holding: boolean('holding').notNull().default(false),
  eventSeq: integer('event_seq').notNull().default(0),
  cancelRequestedAt: time('cancel_requested_at'),
  faults: integer('faults').notNull().default(0),
  leaseOwner: text('lease_owner'),
  parkedAt: time('parked_at'),
  wokenAt: time('woken_at'),
  fencingToken: bigint('fencing_token', { mode: 'number' }).notNull().default(0),
  /** Kept by a trigger of the table. */
  waitedMs: bigint('waited_ms', { mode: 'number' }).notNull().default(0),
  waitingSince: time('waiting_since'),
  createdAt: time('created_at').notNull(),
  finishedAt: time('finished_at'),
});

export const runMessages = pgTable(
  'run_messages',
  {
    runId: uuid('run_id').$type<RunId>().notNull(),
    seq: integer('seq').notNull(),
    message: jsonb('message').$type<ChatMessage>().notNull(),
  },
  (table) => [primaryKey({ name: 'run_messages_pk', columns: [table.runId, table.seq] })],
);

export const invocations = pgTable('invocations', {
  id: uuid('id').$type<InvocationId>().primaryKey(),
  runId: uuid('run_id').$type<RunId>().notNull(),
  turn: integer('turn'),
  place: integer('place'),
  node: text('node'),
  callId: text('call_id'),
  tool: text('tool').notNull(),
  phase: text('phase').$type<InvocationPhase>().notNull(),
  status: text('status').$type<InvocationStatus>().notNull(),
  args: jsonb('args').$type<JsonObject>().notNull(),
  proposedDigest: text('proposed_digest'),
  hookRevision: text('hook_revision'),
  confirmationId: uuid('confirmation_id').$type<ConfirmationId>(),
  /** JSON text. */
  result: text('result'),
  view: text('view'),
  errorCode: text('error_code'),
  errorMessage: text('error_message'),
  sideEffects: jsonb('side_effects').$type<readonly SideEffect[]>().notNull(),
  createdAt: time('created_at').notNull(),
  decidedAt: time('decided_at'),
  executingAt: time('executing_at'),
  finishedAt: time('finished_at'),
});

export const runEvents = pgTable(
  'run_events',
  {
    runId: uuid('run_id').$type<RunId>().notNull(),
    seq: integer('seq').notNull(),
    kind: text('kind').$type<RunEvent['kind']>().notNull(),
    data: jsonb('data').$type<JsonObject>().notNull(),
    at: time('at').notNull(),
  },
  (table) => [primaryKey({ name: 'run_events_pk', columns: [table.runId, table.seq] })],
);

export const sessions = pgTable(
  'sessions',
  {
    agent: text('agent').$type<AgentId>().notNull(),
    session: text('session').notNull(),
    /** Empty: no person. */
    person: text('person').$type<PersonId | ''>().notNull(),
    context: jsonb('context').$type<readonly string[]>(),
    askedByRun: uuid('asked_by_run').$type<RunId>().notNull(),
    askingUntil: time('asking_until').notNull(),
  },
  (table) => [primaryKey({ name: 'sessions_pk', columns: [table.agent, table.session, table.person] })],
);

export type RunRow = typeof runs.$inferSelect;
export type InvocationRow = typeof invocations.$inferSelect;
