import type { CallScope } from './call-scope.ts';
import { throwIfSuspended } from './run-stop.ts';

/** Whether the servers that list their tools themselves are there. Of every other tool there is nothing to wait for. */
export interface ToolReach {
  /** Nobody can say whether there is such a tool: its server has listed none yet, in this process or before. */
  isUnlisted(name: string): boolean;
  isReachable(name: string): boolean;
  /** Resolves when the tool's server is connected and has listed its tools, or that takes too long, or `signal` aborts. */
  reached(name: string, signal: AbortSignal): Promise<void>;
}

export const NOT_LISTED =
  'The server of this tool has not been there since the service started, so nobody can say what the tool is now. It was not executed.';

/**
 * Gives a server that is away its time, before anything of the call is used up. The run is not parked meanwhile, and
 * keeps no other one waiting. Throws only where this process lets go of the run.
 */
export async function awaitTool(
  name: string,
  { reach, waits, signal }: Pick<CallScope, 'reach' | 'waits' | 'signal'>,
): Promise<void> {
  if (reach.isReachable(name)) return;
  await waits.beside(() => reach.reached(name, signal));
  throwIfSuspended(signal);
}
