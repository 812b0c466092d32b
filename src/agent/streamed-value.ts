import { z } from 'zod';

/** Whether a part of a chunk holds nothing, in whatever way a server writes that: some put an empty list for an object. */
export function saysNothing(value: unknown): boolean {
  if (typeof value !== 'object') return value === undefined || value === '';
  return value === null || Object.keys(value).length === 0;
}

/** A shape that also takes what says nothing, as undefined. */
export const orNothing = <T extends z.ZodType>(shape: T) =>
  z.preprocess((value) => (saysNothing(value) ? undefined : value), shape.optional());

/** The place of a choice or a call; some write it as a text. */
export const placeShape = orNothing(
  z.union([
    z.int().min(0),
    z
      .string()
      .regex(/^\d{1,9}$/)
      .transform(Number),
  ]),
);
