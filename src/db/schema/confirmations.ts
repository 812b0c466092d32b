import { boolean, integer, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import type { ConfirmationId, DeliveryId } from '../../ids.ts';
import type { Locale } from '../../locale.ts';

const time = (name: string) => timestamp(name, { withTimezone: true, mode: 'date', precision: 6 });

/** `migrations/0001_confirmations.sql` holds the constraints and triggers; this is what queries are typed by. */
export const confirmations = pgTable('confirmations', {
  id: uuid('id').primaryKey(),
  organization: text('organization').notNull(),
  status: text('status', {
    enum: ['pending', 'approved', 'rejected', 'expired', 'cancelled', 'undeliverable'],
  }).notNull(),
  version: integer('version').notNull(),
  tool: text('tool').notNull(),
  toolVersion: text('tool_version'),
  toolTimeoutMs: integer('tool_timeout_ms'),
  toolWrites: boolean('tool_writes').notNull(),
  toolIdempotent: boolean('tool_idempotent').notNull().default(false),
  connector: text('connector'),
  args: jsonb('args').notNull(),
  argsDigest: text('args_digest').notNull(),
  verificationCode: text('verification_code').notNull(),
  decisiveFields: jsonb('decisive_fields').notNull(),
  summary: text('summary'),
  agent: text('agent').notNull(),
  session: text('session'),
  callId: text('call_id'),
  requesterId: text('requester_id').notNull(),
  requesterName: text('requester_name').notNull(),
  requesterNamedByAgent: boolean('requester_named_by_agent').notNull(),
  agentOwner: text('agent_owner'),
  runId: uuid('run_id'),
  parentRunId: uuid('parent_run_id'),
  invocationId: uuid('invocation_id'),
  apiKeyId: text('api_key_id'),
  idempotencyKey: text('idempotency_key'),
  bodyDigest: text('body_digest'),
  metadata: jsonb('metadata').notNull(),
  policy: jsonb('policy').notNull(),
  approvers: jsonb('approvers').notNull(),
  createdAt: time('created_at').notNull(),
  decideBy: time('decide_by').notNull(),
  decidedAt: time('decided_at'),
  decidedById: text('decided_by_id'),
  decidedByName: text('decided_by_name'),
  decisionReason: text('decision_reason'),
  decisionCode: text('decision_code'),
  executionStatus: text('execution_status', {
    enum: ['none', 'unclaimed', 'claimed', 'succeeded', 'failed', 'unknown', 'lapsed', 'revoked'],
  }).notNull(),
  executableFrom: time('executable_from'),
  executeBy: time('execute_by'),
  claimedAt: time('claimed_at'),
  sendBy: time('send_by'),
  executionAt: time('execution_at'),
  executionDetail: text('execution_detail'),
  nextStepAt: time('next_step_at'),
  remindedAt: time('reminded_at'),
  escalatedAt: time('escalated_at'),
  reroutedAt: time('rerouted_at'),
  delegatedSeats: text('delegated_seats').array().notNull().default([]),
  executionSource: text('execution_source', { enum: ['executor', 'agent', 'settlement', 'timeout'] }),
  coolingOff: boolean('cooling_off').notNull().default(false),
  revokedById: text('revoked_by_id'),
  revokedByName: text('revoked_by_name'),
  revokeReason: text('revoke_reason'),
  supersedes: uuid('supersedes').$type<ConfirmationId>(),
  supersededBy: uuid('superseded_by').$type<ConfirmationId>(),
  /** A rejection that came before, as `followed-rejection.ts` reads it. */
  follows: jsonb('follows'),
  settleFrom: time('settle_from'),
  settleOpen: boolean('settle_open').notNull().default(false),
  settledById: text('settled_by_id'),
  settledByName: text('settled_by_name'),
  rerunReason: text('rerun_reason'),
});

export const votes = pgTable('votes', {
  id: uuid('id').primaryKey(),
  confirmationId: uuid('confirmation_id').notNull(),
  personId: text('person_id').notNull(),
  personName: text('person_name').notNull(),
  seatId: text('seat_id').notNull(),
  seatName: text('seat_name').notNull(),
  verdict: text('verdict', { enum: ['approve', 'reject'] }).notNull(),
  reason: text('reason'),
  channel: text('channel').notNull(),
  argsDigest: text('args_digest').notNull(),
  at: time('at').notNull(),
  /** The card that was tapped; all five or none. */
  seenDelivery: uuid('seen_delivery_id').$type<DeliveryId>(),
  seenVersion: integer('seen_version'),
  seenDigest: text('seen_digest'),
  seenLocale: text('seen_locale').$type<Locale>(),
  seenAt: time('seen_at'),
});

/** Which rules were tried when a request was made, and who could approve; see `frozen-explanation.ts`. */
export const explanations = pgTable('explanations', {
  confirmationId: uuid('confirmation_id').primaryKey(),
  explanation: jsonb('explanation').notNull(),
});

export const gateControls = pgTable('gate_controls', {
  singleton: boolean('singleton').primaryKey(),
  readOnlyOrganization: boolean('read_only_organization').notNull(),
  readOnlyConnectors: text('read_only_connectors').array().notNull(),
  frozenTools: text('frozen_tools').array().notNull(),
  changedAt: time('changed_at').notNull(),
});
