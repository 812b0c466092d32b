import { describe, expect, it } from 'vitest';
import { compileArguments } from '../../src/agent/argument-schema.ts';
import type { JsonObject } from '../../src/json.ts';

const DRAFT_07 = 'http://json-schema.org/draft-07/schema#';
const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema';

describe('the schema of a tool', () => {
  it.each<[string, JsonObject, JsonObject, JsonObject]>([
    [
      'unevaluatedProperties',
      { allOf: [{ properties: { payee: { type: 'string' } } }], unevaluatedProperties: false },
      { payee: 'Acme' },
      { payee: 'Acme', bcc: 'x' },
    ],
    ['prefixItems', { properties: { a: { prefixItems: [{ type: 'string' }] } } }, { a: ['x'] }, { a: [1] }],
    [
      'dependentRequired',
      { dependentRequired: { amount: ['currency'] } },
      { amount: '1', currency: 'CNY' },
      { amount: '1' },
    ],
    [
      'minContains',
      { properties: { a: { contains: { const: 1 }, minContains: 2 } } },
      { a: [1, 1] },
      { a: [1] },
    ],
    [
      '$defs behind a $ref',
      {
        properties: { a: { $ref: '#/$defs/digits' } },
        $defs: { digits: { type: 'string', pattern: '^\\d+$' } },
      },
      { a: '1' },
      { a: 'x' },
    ],
  ])('heeds %s, with or without its dialect named', (_keyword, schema, good, bad) => {
    for (const parameters of [schema, { ...schema, $schema: DRAFT_2020 }]) {
      const check = compileArguments({ type: 'object', ...parameters });
      expect(check(good)).toEqual({ kind: 'valid' });
      expect(check(bad)).toMatchObject({ kind: 'invalid' });
    }
  });

  it('is read as draft-07 where it says so', () => {
    const tuple = {
      type: 'object',
      properties: { a: { type: 'array', items: [{ type: 'string' }], additionalItems: false } },
    };
    const check = compileArguments({ ...tuple, $schema: DRAFT_07 });
    expect(check({ a: ['x'] })).toEqual({ kind: 'valid' });
    expect(check({ a: ['x', 'y'] })).toMatchObject({ kind: 'invalid' });
    expect(() => compileArguments(tuple)).toThrow(/items/);
  });

  it.each(['http://json-schema.org/draft-04/schema#', 'draft-07', '', 7])(
    'in the dialect %j is refused, not passed over',
    (dialect) => {
      expect(() => compileArguments({ type: 'object', $schema: dialect })).toThrow(/draft-07 and 2020-12/);
    },
  );

  it('fills nothing in, converts nothing and takes nothing out', () => {
    const check = compileArguments({
      type: 'object',
      properties: { amount: { type: 'string', default: '10.00' }, count: { type: 'integer' } },
    });
    const args = { count: 1, note: 'x' };
    expect(check(args)).toEqual({ kind: 'valid' });
    expect(args).toEqual({ count: 1, note: 'x' });
    expect(check({ count: '1' })).toMatchObject({ kind: 'invalid' });
  });

  it('asks for own properties: what every object inherits is no argument', () => {
    const check = compileArguments({ type: 'object', required: ['toString'], properties: {} });
    expect(check({})).toMatchObject({ kind: 'invalid' });
  });
});
