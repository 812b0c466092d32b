import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type SourceFile, violationsIn } from './support/architecture-rules.ts';

/** Every TypeScript file of the product, by its path from the package root. */
function sourceFiles(): SourceFile[] {
  const root = new URL('../', import.meta.url);
  return ['src', 'channels', 'hooks'].flatMap((folder) => {
    const url = new URL(`${folder}/`, root);
    if (!existsSync(url)) return [];
    return readdirSync(url, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => {
        const path = `${folder}/${name.replaceAll('\\', '/')}`;
        return { path, text: readFileSync(new URL(path, root), 'utf8') };
      });
  });
}

const file = (path: string, text = ''): SourceFile => ({ path, text });

describe('the architecture', () => {
  it('keeps its dependency rules, its sizes and its style', () => {
    const files = sourceFiles();
    expect(files.length).toBeGreaterThan(20);
    expect(violationsIn(files)).toEqual([]);
  });
});

describe('the architecture rules', () => {
  it.each([
    ['src/agent/react.ts', "import { store } from '../db/store.ts';"],
    ['src/confirmation/decide.ts', "import { app } from '../http/app.ts';"],
    ['src/hook/hook.ts', "import type { Gate } from '../confirmation/gate.ts';"],
    ['src/audit/verify.ts', "export { a } from '../db/a.ts';"],
    ['src/http/app.ts', "import { SlackChannel } from '../../channels/slack/index.ts';"],
    ['src/agent/react.ts', "const gate = await import('../../hooks/confirmation-gate.ts');"],
    ['src/ids.ts', "import type { Card } from './channel/card.ts';"],
    ['channels/slack/index.ts', "import { limits } from '../feishu/limits.ts';"],
    ['channels/slack/index.ts', "import { decide } from '../../src/confirmation/decide.ts';"],
    ['hooks/confirmation-gate.ts', "import {\n  type Channel,\n} from '../src/channel/channel.ts';"],
    ['hooks/read-only-guard.ts', "import { x } from '../src/db/x.ts';"],
    ['src/novel/x.ts', ''],
  ])('refuse that %s imports what is above it or beside it', (path, text) => {
    expect(violationsIn([file(path, text)])).toEqual([expect.stringMatching(/Way out: /)]);
  });

  it.each([
    ['src/main.ts', "import { SlackChannel } from '../channels/slack/index.ts';"],
    ['src/db/store.ts', "import type { Ledger } from '../confirmation/ledger.ts';"],
    [
      'channels/slack/index.ts',
      "import { render } from './render.ts';\nimport type { Card } from '../../src/channel/card.ts';",
    ],
    ['channels/index.ts', "import { slack } from './slack/index.ts';"],
    ['hooks/confirmation-gate.ts', "import type { ConfirmationGate } from '../src/confirmation/gate.ts';"],
    ['src/agent/invoke-tool.ts', 'await tool.execute(args);'],
    [
      'src/hook/x.ts',
      '// biome-ignore lint/suspicious/noExplicitAny: a list of all.\nexport type AnyHook = Hook<any>;',
    ],
    ['src/standin/slack/x.ts', "import type { Clock } from '../../clock.ts';"],
    ['src/audit/verify.ts', '/** In any case: any word, an enum say. */\n// as any other\n'],
  ])('allow %s what it needs', (path, text) => {
    expect(violationsIn([file(path, text)])).toEqual([]);
  });

  it.each([
    ['a second caller of tools', file('src/agent/dag.ts', 'await tool.execute(args);')],
    ['a database driver outside src/db', file('src/http/app.ts', "import pg from 'pg';")],
    [
      'a platform SDK outside its channel',
      file('src/channel/x.ts', "import { WebClient } from '@slack/web-api';"),
    ],
    ['an import without extension', file('src/agent/x.ts', "import { y } from './y';")],
    ['any', file('src/agent/x.ts', 'const x = y as any;')],
    ['any in a record', file('src/agent/x.ts', 'type X = Record<string, unknown> | any;')],
    ['any as the second of two', file('src/agent/x.ts', 'type X = Hook<string, any>;')],
    ['any without a reason', file('src/agent/x.ts', '// A list of all.\ntype X = Hook<any>;')],
    [
      'a stand-in that knows what it checks',
      file('src/standin/x.ts', "import '../../channels/slack/limits.ts';"),
    ],
    ['an enum', file('src/agent/x.ts', 'export const enum Status { a }')],
    ['a default export', file('src/agent/x.ts', 'export default {};')],
    ['an unfinished piece', file('src/agent/x.ts', `// ${'TO'}${'DO'}: later`)],
    ['a grab-bag', file('src/agent/utils.ts')],
    ['a name in another case', file('src/agent/invokeTool.ts')],
    ['a file of more than 400 lines', file('src/agent/x.ts', '\n'.repeat(401))],
  ])('find %s', (_what, found) => {
    expect(violationsIn([found])).not.toEqual([]);
  });

  it('let one file in ten be longer than 250 lines, and not two', () => {
    const files = Array.from({ length: 10 }, (_, index) => file(`src/agent/short-${index}.ts`));
    const long = file('src/agent/long.ts', '\n'.repeat(300));
    expect(violationsIn([...files, long])).toEqual([]);
    expect(violationsIn([...files, long, { ...long, path: 'src/agent/longer.ts' }])).toEqual([
      expect.stringMatching(/one file in ten/),
    ]);
  });
});
