import { compileGlobs } from '../glob.ts';

/** The operators' switches. A claim holds them shared while it commits, a change of them exclusively (I13). */
export interface GateControls {
  readonly readOnlyOrganization: boolean;
  /** Ids of the connectors that are switched to read-only by themselves. */
  readonly readOnlyConnectors: readonly string[];
  /** Globs over full tool names, of every freeze that has not ended. */
  readonly frozenTools: readonly string[];
}

/** What the switches have to know of a call beside its tool. */
export interface SwitchedCall {
  readonly writes: boolean;
  /** Null: a tool that no connector has. */
  readonly connector: string | null;
}

/** What keeps this tool from running now; null where nothing does. Read-only is named before a freeze. */
export function stoppedBy(
  call: SwitchedCall & { readonly tool: string },
  controls: GateControls,
): 'frozen' | 'read_only' | null {
  if (readOnlyScope(call, controls) !== null) return 'read_only';
  return compileGlobs(controls.frozenTools)(call.tool) ? 'frozen' : null;
}

/** Which switch keeps this call from writing, the wider one where both do; null where none does. */
export function readOnlyScope(
  { writes, connector }: SwitchedCall,
  controls: GateControls,
): 'organization' | 'connector' | null {
  if (!writes) return null;
  if (controls.readOnlyOrganization) return 'organization';
  return connector !== null && controls.readOnlyConnectors.includes(connector) ? 'connector' : null;
}
