import type { RunLimits } from '../config/config.ts';
import type { ChatMessage } from './chat-message.ts';
import { failedRun } from './executor.ts';
import type { RunEnd, RunRecord } from './run-record.ts';

/** How a run ends that has used up its time; null while it has some left. Asks the database only where there is a limit. */
export async function timeSpent(
  { wallTimeMs }: RunLimits,
  record: Pick<RunRecord, 'workedMs'>,
): Promise<RunEnd | null> {
  if (wallTimeMs === null || (await record.workedMs()) < wallTimeMs) return null;
  const limit = `${Math.round(wallTimeMs / 1_000)} seconds`;
  return failedRun('max_wall_time', `The run took ${limit}, the time it has beside waiting for people.`);
}

/** How a run ends that may not ask its model again, by what its messages say it has used; null where it may. */
export async function limitBeforeModel(
  messages: readonly ChatMessage[],
  limits: RunLimits,
  record: Pick<RunRecord, 'workedMs'>,
): Promise<RunEnd | null> {
  const turns = messages.filter(({ role }) => role === 'assistant').length;
  if (turns >= limits.turns) {
    return failedRun('max_turns', `The agent did not come to an end within ${limits.turns} turns.`);
  }
  return tokensSpent(messages, limits) ?? timeSpent(limits, record);
}

/** How a run ends whose last turn may not run, so that none of its calls does; null where they may. */
export async function limitBeforeCalls(
  messages: readonly ChatMessage[],
  limits: RunLimits,
  record: Pick<RunRecord, 'workedMs'>,
): Promise<RunEnd | null> {
  const calls = messages.reduce(
    (sum, message) => sum + (message.role === 'assistant' ? message.toolCalls.length : 0),
    0,
  );
  if (limits.toolCalls !== null && calls > limits.toolCalls) {
    const what = `The agent asked for more than the ${limits.toolCalls} calls that a run of it may make`;
    return failedRun('max_tool_calls', `${what}; the last turn's did not run.`);
  }
  return tokensSpent(messages, limits) ?? timeSpent(limits, record);
}

function tokensSpent(messages: readonly ChatMessage[], limits: RunLimits): RunEnd | null {
  if (limits.tokens === null) return null;
  const tokens = messages.reduce(
    (sum, message) => sum + (message.role === 'assistant' ? (message.tokens ?? 0) : 0),
    0,
  );
  if (tokens < limits.tokens) return null;
  return failedRun('max_tokens', `The run used ${tokens} tokens; its limit is ${limits.tokens}.`);
}
