import { compileGlob, globsOverlap } from '../glob.ts';
import type { ConfigPath } from './config-fault.ts';
import type { Draft } from './draft.ts';
import type { FaultCollector } from './fault-collector.ts';
import { nearest } from './schema-faults.ts';

/**
 * A pattern has to match a connector's tool, or share a name with a pattern of `externalTools`. A policy's that does
 * not is a gate that was misspelt, and what it should have stopped runs; an agent's is a tool it silently lacks.
 */
export function checkToolPatterns(draft: Draft, collector: FaultCollector): void {
  const { tools, externalTools } = draft.names;
  const known = [...tools.map(({ name }) => name), ...externalTools];
  const isKnown = (pattern: string): boolean => known.some((name) => globsOverlap(pattern, name));
  const message = (pattern: string): string =>
    `matches neither a connector's tool nor externalTools: ${pattern}${nearest(pattern, known)}`;

  const { floor } = draft;
  // Its default, everything, is no misspelling even where there is nothing yet.
  const written = floor === null || floor.value.tools.join() === '*' ? [] : [floor];
  for (const { path, value } of [...draft.policies, ...written, ...draft.agents])
    for (const [at, pattern] of unknownAmong(path, value.tools, isKnown))
      collector.fault(at, message(pattern));
  for (const [index, pattern] of externalTools.entries()) {
    const own = tools.find(({ name }) => compileGlob(pattern).matches(name));
    if (own !== undefined)
      collector.warning(
        ['externalTools', index],
        `also matches ${own.name}, which a connector has; that one counts`,
      );
  }
}

const unknownAmong = (
  path: ConfigPath,
  patterns: readonly string[],
  isKnown: (pattern: string) => boolean,
): [ConfigPath, string][] =>
  patterns.flatMap((pattern, index) => (isKnown(pattern) ? [] : [[[...path, 'tools', index], pattern]]));
