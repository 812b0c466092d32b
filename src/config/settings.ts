import { z } from 'zod';

/** Text that says something. */
export const text = z
  .string()
  .min(1)
  .max(10_000)
  .refine((value) => value.trim() !== '', 'is blank');

/** A key that opens something. Short ones are warned about (`check-credentials.ts`). */
export const secretKey = z
  .string()
  .min(1)
  .max(1_000)
  .refine((value) => !/\s/.test(value), 'holds blanks');

/** A name that others refer to by exactly this text; it appears in addresses, logs and audit events. */
export const id = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$/,
    'has to be 1 to 64 letters, digits and . _ @ + -, beginning with a letter or digit',
  );

/** Names with `*` in the place of any characters. */
export const glob = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\s\p{Cc}]+$/u, 'holds blanks or control characters');

// Text is let in as well, because what comes out of the environment is text.
export const integer = (least: number, most: number) =>
  z.preprocess(
    (value) => (typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value),
    z.int().min(least).max(most),
  );

export const flag = z.preprocess(
  (value) => (value === 'true' ? true : value === 'false' ? false : value),
  z.boolean(),
);

/** An address of a server: `http` or `https`, without credentials; comes out without a trailing slash. */
export const httpUrl = z
  .string()
  .refine(isHttpUrl, 'has to be an http:// or https:// address without credentials, query and fragment')
  .transform((value) => value.replace(/\/+$/, ''));

function isHttpUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, search, hash } = new URL(value);
  return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === '';
}
