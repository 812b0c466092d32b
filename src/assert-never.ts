/** Ends a `switch` over a union: a member that was forgotten is a compile error, and a throw at run time. */
export function assertNever(value: never): never {
  throw new Error(`Unexpected value: ${JSON.stringify(value)}`);
}
