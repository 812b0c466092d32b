import { type SQL, sql } from 'drizzle-orm';
import { storableJson } from './storable-json.ts';

/** A value as a parameter of type jsonb: as text first, so that no driver stores it as a string. */
export const jsonb = (value: unknown): SQL => sql`${JSON.stringify(storableJson(value))}::text::jsonb`;
