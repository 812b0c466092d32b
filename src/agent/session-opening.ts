import { sleep } from '../clock.ts';
import { dispatchSessionStart } from '../hook/dispatch-session-start.ts';
import type { HookRegistry } from '../hook/hook-registry.ts';
import type { CallScope } from './call-scope.ts';
import type { ChatMessage } from './chat-message.ts';
import { hookFailureRecorder, type InvokePorts } from './invoke-ports.ts';
import type { SessionStore } from './run-store.ts';

/** How long one run may take to ask the hooks before another run of the session asks them. */
const ASK_WITHIN_MS = 60_000;
const LOOK_AGAIN_MS = 200;

type SessionPorts = Pick<InvokePorts, 'audit' | 'logger' | 'clock'>;

/**
 * The messages a run starts with that asks a model. The `SessionStart` hooks run once a session and person, whatever the number of
 * its runs and of the processes; what they gave is kept and reaches every run's prompt. Throws a `CountersignError` where a
 * hook that must not fail did: the run does not start.
 */
export async function openingMessages(
  input: { readonly instructions: string; readonly input: string; readonly hooks: HookRegistry },
  scope: CallScope,
  sessions: SessionStore,
  ports: SessionPorts,
): Promise<readonly ChatMessage[]> {
  const context = await sessionContext(input.hooks, scope, sessions, ports);
  const system = [input.instructions, ...context].filter((text) => text.trim() !== '').join('\n\n');
  const user: ChatMessage = { role: 'user', content: input.input };
  return system === '' ? [user] : [{ role: 'system', content: system }, user];
}

async function sessionContext(
  hooks: HookRegistry,
  scope: CallScope,
  sessions: SessionStore,
  ports: SessionPorts,
): Promise<readonly string[]> {
  const { agent, session, person, run, signal } = scope;
  const { clock } = ports;
  for (;;) {
    const opened = await sessions.open({ agent, session, person, run, askWithinMs: ASK_WITHIN_MS });
    if (opened.kind === 'known') return opened.context;
    if (opened.kind === 'being-asked') {
      await sleep(clock, LOOK_AGAIN_MS, signal);
      continue;
    }
    try {
      const { context } = await dispatchSessionStart({
        registry: hooks,
        context: {
          agentId: agent,
          userId: person,
          sessionId: session,
          runId: run,
          metadata: { organization: scope.organization, evaluation: scope.evaluation },
        },
        signal,
        clock,
        onHookFailed: hookFailureRecorder(ports, scope),
      });
      await sessions.keep({ agent, session, person, run, context });
      return context;
    } catch (error) {
      await sessions.abandon({ agent, session, person, run }).catch(() => {});
      throw error;
    }
  }
}
