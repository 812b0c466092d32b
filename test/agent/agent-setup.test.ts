import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compileArguments } from '../../src/agent/argument-schema.ts';
import { ToolCatalog } from '../../src/agent/tool-catalog.ts';
import type { Database } from '../../src/db/database.ts';
import { agentId } from '../../src/ids.ts';
import { openPostgres } from '../support/databases.ts';
import { startEngine } from './engine-fixture.ts';
import { agent, httpTool, sampleConfig } from './sample-config.ts';

const urls = { modelUrl: 'http://127.0.0.1:9', toolUrl: 'http://127.0.0.1:9' };

describe('the set-up of agents', () => {
  let database: Database;
  beforeAll(async () => {
    database = await openPostgres();
  });
  afterAll(() => database.close());

  it('names every hook that cannot be built, and does not run such an agent', async () => {
    const engine = await startEngine({
      database,
      config: sampleConfig({
        ...urls,
        agents: [agent('fine'), agent('broken', { hooks: [{ name: 'no-such-hook', options: {} }] })],
      }),
    });
    expect(engine.engine.faults).toEqual([expect.stringMatching(/^agent "broken": .*no-such-hook/)]);
    await expect(engine.start({ agent: agentId('broken') })).rejects.toThrow(/hooks cannot be built/);
    await engine.stop();
  });

  it('does not run an agent that lives outside', async () => {
    const engine = await startEngine({
      database,
      config: sampleConfig({ ...urls, agents: [agent('outside', { model: null })] }),
    });
    await expect(engine.start({ agent: agentId('outside') })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    await engine.stop();
  });
});

describe('the catalogue of tools', () => {
  const catalogOf = (changes: Parameters<typeof httpTool>[0]) =>
    new ToolCatalog({
      externalTools: ['bank__*'],
      connectors: [
        {
          id: 'oa',
          kind: 'http',
          baseUrl: 'https://oa.example',
          headers: { authorization: 'secret' },
          tools: [httpTool(changes)],
        },
      ],
    });
  const base = { name: 'pay', path: '/payments' };

  it('gives a tool another version whenever what it does has changed', () => {
    const versions = [
      base,
      { ...base, path: '/other' },
      { ...base, method: 'PUT' as const },
      { ...base, description: 'Pays twice.' },
      { ...base, parameters: { type: 'object', required: ['a'] } },
      { ...base, timeoutMs: 1 },
    ].map((changes) => catalogOf(changes).versionOf('oa__pay'));
    expect(new Set(versions).size).toBe(versions.length);
    expect(catalogOf(base).versionOf('oa__pay')).toBe(versions[0]);
  });

  it('tells its own tools, those of outside agents and those of nobody apart', () => {
    const catalog = catalogOf(base);
    expect(catalog.versionOf('oa__pay')).toMatch(/^sha256:/);
    expect(catalog.versionOf('bank__transfer')).toBeNull();
    expect(catalog.versionOf('oa__other')).toBeUndefined();
    expect(catalog.isExternal('oa__pay')).toBe(false);
    expect(catalog.forAgent(['*pay']).map(({ name }) => name)).toEqual(['oa__pay']);
    expect(catalog.forAgent(['OA__*'])).toEqual([]);
  });
});

describe('the check of arguments', () => {
  const check = compileArguments({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    required: ['amount'],
    additionalProperties: false,
    properties: {
      amount: { type: 'string', pattern: '^\\d+$' },
      lines: {
        type: 'array',
        items: { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } },
      },
      currency: { enum: ['CNY', 'EUR'] },
    },
  });

  it.each([
    [{}, 'Argument "amount" is missing.'],
    [{ amount: 1 }, 'Argument "amount" is wrong: it must be string.'],
    [{ amount: 'x' }, 'Argument "amount" is wrong: it must match pattern "^\\d+$".'],
    [{ amount: '1', other: 1 }, 'Argument "other" is not known to the tool.'],
    [{ amount: '1', lines: [{ id: 1 }, {}] }, 'Argument "lines.1.id" is missing.'],
    [{ amount: '1', lines: [{ id: '1' }] }, 'Argument "lines.0.id" is wrong: it must be integer.'],
    [{ amount: '1', currency: 'USD' }, 'Argument "currency" must be one of ["CNY","EUR"].'],
  ])('says of %j which one is at fault', (args, message) => {
    expect(check(args)).toEqual({ kind: 'invalid', message });
  });

  it('changes nothing: no value is converted, filled in or taken away', () => {
    const args = { amount: '1' };
    expect(check(args)).toEqual({ kind: 'valid' });
    expect(args).toEqual({ amount: '1' });
    expect(compileArguments({ type: 'object', required: ['constructor'] })({}).kind).toBe('invalid');
  });
});
