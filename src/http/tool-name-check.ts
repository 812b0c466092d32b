import { CALL_AGENT } from '../agent/call-agent-definition.ts';
import type { Config } from '../config/config.ts';
import { globsOverlap } from '../glob.ts';

/** Whether some tool can have a name that a glob matches: a connector's, an outside agent's, or the delegation tool. */
export function createToolNameCheck(
  config: Pick<Config, 'connectors' | 'externalTools'>,
): (glob: string) => boolean {
  const names = [
    CALL_AGENT,
    ...config.connectors.flatMap((connector) =>
      // What a server lists may change at any time.
      connector.kind === 'mcp'
        ? [`${connector.id}__*`]
        : connector.tools.map((tool) => `${connector.id}__${tool.name}`),
    ),
    ...config.externalTools,
  ];
  return (glob) => glob === '*' || names.some((name) => globsOverlap(glob, name));
}
