import { ConditionFailure } from './condition-failure.ts';
import { type ConditionFault, type ConditionProgram, compileProgram } from './condition-program.ts';

/** Compiles the `excluded` of a policy: for a call, the ids of the people who may not approve it. */
export const compileExcluded = (text: string): ConditionProgram<readonly string[]> | ConditionFault =>
  compileProgram(text, {
    typeFault: (type) =>
      ALLOWED.test(type)
        ? null
        : `It has to be the id of a person, or a list of them; this one is a ${type}.`,
    read(value) {
      if (typeof value === 'string') return [value];
      if (Array.isArray(value) && value.every((id) => typeof id === 'string')) return value;
      throw new ConditionFailure('is neither the id of a person nor a list of them');
    },
  });

/** What may turn out to be a text or a list of texts; what is dynamic is looked at when it has a value. */
const ALLOWED = /^(?:string|dyn|list(?:<(?:string|dyn|.)>)?)$/;
