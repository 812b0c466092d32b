/** The hooks of an agent cannot be built, so the agent does not run. Holds every fault, not only the first. */
export class HookBuildError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`The hooks cannot be built:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.name = 'HookBuildError';
    this.faults = faults;
  }
}
