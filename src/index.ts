/**
 * The public API, name by name: what running the service inside another program, writing a hook, writing a channel and
 * talking to a service take. What is not listed here may change without notice.
 */

// Running the service: configuration in, a running service out. `startService` uses the channels and hooks of the two lists.

export { type Clock, systemClock } from './clock.ts';
export type {
  AgentConfig,
  ApiKeyConfig,
  ApiRole,
  ChannelConfig,
  Config,
  ConnectorConfig,
  ConnectorToolConfig,
  HookDeclaration,
  ListenAddress,
  ModelConfig,
  PersonConfig,
  PersonRole,
  PolicyConfig,
  PolicyRule,
} from './config/config.ts';
export { type ConfigFault, formatFault } from './config/config-fault.ts';
export type { Environment } from './config/expand-environment.ts';
export { type LoadedConfig, loadConfig } from './config/load-config.ts';
export { createLogger } from './http/logger.ts';
export { CHANNEL_KINDS, HOOK_KINDS, type RunningService, secretsOf, startService } from './main.ts';

// Writing a hook: one file in `hooks/`, one line in its list. docs/hooks.md shows a whole one.

export {
  type OnError,
  PostToolUseHook,
  PreToolUseHook,
  SessionStartHook,
  ToolSettledHook,
} from './hook/hook.ts';
export type {
  AskMetadata,
  HookContext,
  HookMetadata,
  PostToolUseContext,
  SessionStartContext,
  ToolSettledContext,
} from './hook/hook-context.ts';
export type { AnyHook, AnyHookKind, HookKind } from './hook/hook-kind.ts';
export type {
  ConnectorLogEntry,
  ConnectorLogPort,
  HookPorts,
  PeoplePort,
  RateLimitPort,
  ReadOnlyPort,
} from './hook/hook-ports.ts';
export type {
  ObserverResult,
  PostToolUseResult,
  PreToolUseResult,
  SessionStartResult,
} from './hook/hook-results.ts';

// Writing a channel: one folder in `channels/`, two lines in its list.

export type {
  Card,
  CardActions,
  CardFact,
  CardLine,
  CardLink,
  CardState,
  Notice,
  RenderedCard,
} from './channel/card.ts';
export type {
  Channel,
  ChannelAddress,
  ChannelAnswer,
  ChannelHealth,
  HttpAnswer,
  InboundRequest,
  InboundResult,
  OutgoingDelivery,
  OutgoingUpdate,
  SendOutcome,
  UpdateOutcome,
} from './channel/channel.ts';
export type {
  AnyChannelKind,
  ChannelIdentity,
  ChannelInput,
  ChannelKind,
} from './channel/channel-kind.ts';
export type {
  CallbackReply,
  ChannelActor,
  InboundEvent,
  TapAction,
  TapEvent,
} from './channel/inbound-event.ts';

// Talking to a service: what things are called, what goes wrong, and the digest that an approval is bound to.

export { AUDIT_KINDS, type AuditActor, type AuditEvent, type AuditKind } from './audit/audit-event.ts';
export { type DigestedCall, digestOf } from './confirmation/digest.ts';
export {
  BLOCK_CODES,
  type BlockCode,
  CountersignError,
  ERRORS,
  type ErrorCode,
} from './errors.ts';
export type {
  AgentId,
  ApiKeyId,
  ChannelId,
  ConfirmationId,
  DeliveryId,
  InvocationId,
  PersonId,
  RunId,
} from './ids.ts';
export type { JsonObject, JsonValue } from './json.ts';
export { LOCALES, type Locale, type LocalizedText } from './locale.ts';
export { REASON_MODES, type ReasonMode, type Verdict } from './verdict.ts';
