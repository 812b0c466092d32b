import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/package-root.ts';

/** One page: its path from the package root with `/`, and its text. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

/** Every Markdown page of the project: those at the top and everything under `docs/`. */
export function pages(): readonly Page[] {
  const top = readdirSync(packageRoot).filter((name) => name.endsWith('.md'));
  const docs = readdirSync(join(packageRoot, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`);
  return [...top, ...docs].map((path) => ({ path, text: readFileSync(join(packageRoot, path), 'utf8') }));
}

export function pageAt(path: string): Page {
  const page = pages().find((candidate) => candidate.path === path);
  if (!page) throw new Error(`There is no page ${path}.`);
  return page;
}

/** The code blocks of a language, in order. */
export const blocksOf = ({ text }: Page, language: string): readonly string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, block]) => block ?? '',
  );

/** Targets of links and pictures that point into the project. */
export const relativeLinksOf = ({ text }: Page): readonly string[] =>
  [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target]) => target ?? '')
    .filter((target) => !/^[a-z]+:/.test(target));

/** The anchors that GitHub gives the headings of a page. */
export const anchorsOf = ({ text }: Page): readonly string[] =>
  [...withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) =>
    (heading ?? '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );

const withoutCode = (text: string): string => text.replace(/^```[\s\S]*?^```/gm, '');
