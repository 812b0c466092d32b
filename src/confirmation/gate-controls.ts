import { compileGlobs } from '../glob.ts';

/** The operators' switches. A claim holds them shared while it commits, a change of them exclusively (I13). */
export interface GateControls {
  readonly readOnlyOrganization: boolean;
  /** Ids of the connectors that are switched to read-only by themselves. */
  readonly readOnlyConnectors: readonly string[];
  /** Globs over full tool names, of every freeze that has not ended. */
  readonly frozenTools: readonly string[];
}

/** What keeps this tool from running now; null where nothing does. A freeze is named before read-only. */
export function stoppedBy(
  call: { readonly tool: string; readonly writes: boolean; readonly connector: string | null },
  controls: GateControls,
): 'frozen' | 'read_only' | null {
  if (compileGlobs(controls.frozenTools)(call.tool)) return 'frozen';
  const connectorReadOnly = call.connector !== null && controls.readOnlyConnectors.includes(call.connector);
  return call.writes && (controls.readOnlyOrganization || connectorReadOnly) ? 'read_only' : null;
}
