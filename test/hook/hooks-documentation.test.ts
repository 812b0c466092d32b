import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { HOOK_KINDS } from '../../hooks/index.ts';
import { buildHookRegistry } from '../../src/hook/build-hook-registry.ts';
import { HOOK_POINTS } from '../../src/hook/hook-point.ts';
import { toolBlocklist } from './example/tool-blocklist.ts';
import { dispatchOver, SampleGate } from './sample-hooks.ts';
import { workingPorts } from './sample-ports.ts';

const root = new URL('../../', import.meta.url);
const page = await readFile(new URL('docs/hooks.md', root), 'utf8');

const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map(([, text = '']) => text);

describe('docs/hooks.md', () => {
  it('shows the example as it is compiled and run', async () => {
    const file = await readFile(new URL('test/hook/example/tool-blocklist.ts', root), 'utf8');
    expect(blocks('ts')).toEqual([file.replaceAll("'../../../src/", "'../src/")]);
  });

  it('shows an example that does what it says', async () => {
    const hook = toolBlocklist.create({ tools: ['oa__purchase_pay'] }, workingPorts());
    expect(await dispatchOver([hook]).run()).toMatchObject({
      kind: 'denied',
      code: 'denied_by_hook',
      failure: false,
    });
    const other = toolBlocklist.create({ tools: ['oa__delete'] }, workingPorts());
    expect(await dispatchOver([other]).run()).toMatchObject({ kind: 'allowed' });
  });

  it('shows a configuration from which the hooks can be built', () => {
    const [configuration] = blocks('yaml').map((text) => parse(text) as Configuration);
    const declarations =
      configuration?.agents.flatMap(({ hooks }) => hooks.class_hooks.map(declarationOf)) ?? [];
    expect(declarations.map(({ name }) => name).sort()).toEqual(HOOK_KINDS.map(({ name }) => name).sort());
    expect(() =>
      buildHookRegistry({ declarations, kinds: HOOK_KINDS, gate: new SampleGate(), ports: workingPorts() }),
    ).not.toThrow();
  });

  it('describes every hook and every point, with its rule', () => {
    for (const { name } of HOOK_KINDS) expect(page).toContain(`### \`${name}\`\n`);
    for (const { name, hookClass } of HOOK_POINTS) expect(page).toContain(`| \`${name}\` | ${hookClass} |`);
  });

  it.each(HOOK_KINDS.map((kind) => [kind.name, kind] as const))(
    'says of %s what its code says',
    (name, kind) => {
      const options = name === 'connector-rate-limit' ? { limit: 1, window: '1m' } : {};
      const parsed = kind.options.parse(options) as Record<string, unknown>;
      const hook = kind.create(parsed, workingPorts());
      const section = page.split(`### \`${name}\`\n`)[1]?.split('\n### ')[0] ?? '';
      expect(section).toMatch(
        new RegExp(`^\\s*\`${hook.point}\`, ${hook.onError === 'deny' ? 'denies' : 'continues'} when`),
      );
      if (hook.priority !== 100) expect(section).toContain(`priority ${hook.priority}`);
      for (const option of Object.keys(parsed)) expect(section).toContain(`| \`${option}\` |`);
    },
  );
});

interface Configuration {
  readonly agents: readonly { readonly hooks: { readonly class_hooks: readonly (string | object)[] } }[];
}

function declarationOf(entry: string | object): { readonly name: string; readonly options: unknown } {
  if (typeof entry === 'string') return { name: entry, options: {} };
  const [[name, options] = ['', {}]] = Object.entries(entry);
  return { name, options };
}
