import { ConditionFailure } from './condition-failure.ts';
import { type ConditionFault, type ConditionProgram, compileProgram } from './condition-program.ts';

export type { ConditionFacts } from './condition-context.ts';

/** Where it `usesAgentInput`, its policy may only tighten. */
export type CompiledCondition = ConditionProgram<boolean> | ConditionFault;

/** Compiles the `when` of a policy: true or false for a call. */
export const compileCondition = (text: string): CompiledCondition =>
  compileProgram(text, {
    typeFault: (type) =>
      type === 'bool' || type === 'dyn'
        ? null
        : `A condition has to be true or false, this one is a ${type}.`,
    read(value) {
      if (typeof value === 'boolean') return value;
      throw new ConditionFailure('is neither true nor false');
    },
  });
