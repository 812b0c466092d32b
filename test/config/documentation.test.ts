import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHANNEL_KINDS } from '../../channels/index.ts';
import { HOOK_KINDS } from '../../hooks/index.ts';
import { type LoadedConfig, loadConfig } from '../../src/config/load-config.ts';
import { compileCondition } from '../../src/confirmation/condition.ts';
import { packageRoot } from '../../src/package-root.ts';
import { sampleEnvironment } from './fixtures.ts';

const load = (text: string): LoadedConfig =>
  loadConfig({
    text,
    fileName: 'configuration.md',
    environment: sampleEnvironment,
    channelKinds: CHANNEL_KINDS,
    hookKinds: HOOK_KINDS,
  });

const page = (name: string): string => readFileSync(join(packageRoot, 'docs', name), 'utf8');
const blocksOf = (text: string, language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, block]) => block ?? '',
  );

const configuration = page('configuration.md');
const policies = page('policies.md');

describe('docs/configuration.md', () => {
  it('shows passages that are a configuration together', () => {
    const blocks = blocksOf(configuration, 'yaml');
    expect(blocks.length).toBeGreaterThan(5);
    const result = load(blocks.join('\n'));
    expect(result.kind === 'faulty' ? result.faults : []).toEqual([]);
  });

  it('names every key of the sample', () => {
    const sample = readFileSync(join(packageRoot, 'countersign.example.yaml'), 'utf8');
    for (const [, key] of sample.matchAll(/^\s*(?:- )?([a-zA-Z_]+):/gm))
      if (key !== 'main') expect(configuration, `the key ${key}`).toContain(key);
  });
});

describe('docs/policies.md', () => {
  it('shows conditions that compile', () => {
    const conditions = blocksOf(policies, 'cel').flatMap((block) => block.trim().split('\n'));
    expect(conditions.length).toBeGreaterThan(8);
    for (const condition of conditions)
      expect(compileCondition(condition), condition).toMatchObject({ kind: 'compiled' });
  });

  it('says rightly what does not load', () => {
    expect(compileCondition('decimal(args.amount) > 50000')).toMatchObject({ kind: 'faulty' });
  });

  it('shows policies that load beside the rest, without a warning of their own', () => {
    const [example] = blocksOf(policies, 'yaml');
    const rest = blocksOf(configuration, 'yaml').filter((block) => !block.startsWith('policies:'));
    const result = load(`${rest.join('\n')}\ndefaultPolicy: { approvers: ["group:finance"] }\n${example}`);
    if (result.kind === 'faulty') throw new Error(JSON.stringify(result.faults));
    expect(result.config.policies.map(({ id }) => id)).toEqual(['flagged-by-agent', 'every-transfer']);
    expect(result.warnings.filter(({ path }) => path.endsWith('.when'))).toEqual([]);
  });
});
