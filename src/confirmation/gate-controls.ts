import { compileGlobs } from '../glob.ts';

/** The operators' switches. A claim holds them shared while it commits, a change of them exclusively (I13). */
export interface GateControls {
  readonly readOnlyOrganization: boolean;
  /** Ids of the connectors that are switched to read-only by themselves. */
  readonly readOnlyConnectors: readonly string[];
  /** Globs over full tool names, of every freeze that has not ended. */
  readonly frozenTools: readonly string[];
}

/** What keeps this tool from running now; null where nothing does. Read-only is named before a freeze. */
export function stoppedBy(
  call: { readonly tool: string; readonly writes: boolean; readonly connector: string | null },
  controls: GateControls,
): 'frozen' | 'read_only' | null {
  const connectorReadOnly = call.connector !== null && controls.readOnlyConnectors.includes(call.connector);
  if (call.writes && (controls.readOnlyOrganization || connectorReadOnly)) return 'read_only';
  return compileGlobs(controls.frozenTools)(call.tool) ? 'frozen' : null;
}
