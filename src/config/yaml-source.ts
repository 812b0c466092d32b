import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { type ConfigFault, type ConfigPath, formatPath } from './config-fault.ts';
import { type Environment, expandEnvironment } from './expand-environment.ts';
import { FaultCollector } from './fault-collector.ts';
import { isDeeperThan } from './yaml-depth.ts';

/** A file as plain values, with what is needed to say where something stands. */
export interface YamlSource {
  /** Mappings are objects, sequences arrays; keys whose value expanded to nothing are left out. */
  readonly value: unknown;
  readonly collector: FaultCollector;
  /** The variable that left the key at this path without a value; null where none did. */
  emptyVariable(path: ConfigPath): string | null;
}

const LONGEST_FILE = 1_048_576;
const DEEPEST_NESTING = 64;
/** Aliases multiply; a file of this many values after resolving them is an attack or a mistake. */
const MOST_VALUES = 250_000;

/** Reads YAML 1.2 and expands the environment in its strings. Faults of the syntax end the reading. */
export function readYamlSource(
  text: string,
  fileName: string,
  environment: Environment,
):
  | { readonly kind: 'read'; readonly source: YamlSource }
  | { readonly kind: 'faulty'; readonly faults: readonly ConfigFault[] } {
  const whole = (message: string) =>
    ({ kind: 'faulty', faults: [{ path: '', line: null, message }] }) as const;
  if (text.length > LONGEST_FILE) return whole(`${fileName} is longer than ${LONGEST_FILE} characters`);
  if (isDeeperThan(DEEPEST_NESTING, text))
    return whole(`${fileName} is nested more than ${DEEPEST_NESTING} deep`);
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    // Checked below: the library compares each key with each.
    uniqueKeys: false,
    // Its pretty messages quote the line, and a line may hold a secret.
    prettyErrors: false,
    lineCounter,
  });
  const problems = [...document.errors, ...document.warnings];
  if (problems.length > 0)
    return {
      kind: 'faulty',
      faults: problems.slice(0, 100).map((problem) => ({
        path: '',
        line: lineCounter.linePos(problem.pos[0]).line,
        message: `is not well-formed YAML: ${problem.message}`,
      })),
    };
  if (document.contents === null) return whole(`${fileName} is empty`);
  const reader = new NodeReader(document, lineCounter, environment);
  const value = reader.read(document.contents, []);
  return {
    kind: 'read',
    source: { value, collector: reader.collector, emptyVariable: reader.emptyVariable },
  };
}

const ABSENT = Symbol('absent');

/**
 * What text and jsonb columns refuse. Nearly everything that is configured is frozen into a row one day: a name with
 * it would be found out when its person votes.
 */
const UNSTORABLE = /\0|\p{Surrogate}/u;

class NodeReader {
  readonly collector: FaultCollector;
  readonly #document: Document.Parsed;
  readonly #lineCounter: LineCounter;
  readonly #environment: Environment;
  readonly #lines = new Map<string, number>();
  readonly #emptyVariables = new Map<string, string>();
  readonly #secrets = new Map<string, string>();
  #values = 0;

  constructor(document: Document.Parsed, lineCounter: LineCounter, environment: Environment) {
    this.#document = document;
    this.#lineCounter = lineCounter;
    this.#environment = environment;
    this.collector = new FaultCollector({ lineOf: this.#lineOf, redact: this.#redact });
  }

  readonly emptyVariable = (path: ConfigPath): string | null =>
    this.#emptyVariables.get(formatPath(path)) ?? null;

  read(node: unknown, path: ConfigPath): unknown {
    this.#values += 1;
    if (this.#values > MOST_VALUES || path.length > DEEPEST_NESTING) {
      // Said once; the rest is left unread.
      if (this.#values !== Number.POSITIVE_INFINITY) this.collector.fault(path, 'expands to too many values');
      this.#values = Number.POSITIVE_INFINITY;
      return ABSENT;
    }
    if (isAlias(node)) {
      const target = node.resolve(this.#document);
      if (target !== undefined) return this.read(target, path);
      this.collector.fault(path, 'is an alias of something that is not there');
      return ABSENT;
    }
    if (isMap(node)) return this.#readMap(node.items, path);
    if (isSeq(node))
      return node.items.map((item, index) => {
        const value = this.#readAt(item, [...path, index]);
        return value === ABSENT ? '' : value;
      });
    return isScalar(node) ? this.#readScalar(node.value, path) : null;
  }

  #readMap(pairs: readonly { key: unknown; value: unknown }[], path: ConfigPath): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    const seen = new Set<string>();
    for (const { key: keyNode, value: valueNode } of pairs) {
      const key = isScalar(keyNode) ? keyNode.value : undefined;
      if (typeof key !== 'string' || key === '__proto__' || UNSTORABLE.test(key)) {
        this.collector.fault(path, 'has a key that is not plain text');
        continue;
      }
      const keyPath = [...path, key];
      if (seen.has(key)) {
        this.#lines.set(formatPath(keyPath), this.#startOf(keyNode) ?? 1);
        this.collector.fault(keyPath, 'is there twice');
        continue;
      }
      seen.add(key);
      const start = this.#startOf(keyNode);
      if (start !== null) this.#lines.set(formatPath(keyPath), start);
      const value = this.read(valueNode, keyPath);
      if (value !== ABSENT) object[key] = value;
    }
    return object;
  }

  #readAt(node: unknown, path: ConfigPath): unknown {
    const start = this.#startOf(node);
    if (start !== null) this.#lines.set(formatPath(path), start);
    return this.read(node, path);
  }

  #readScalar(value: unknown, path: ConfigPath): unknown {
    if (typeof value !== 'string') return value;
    const expansion = expandEnvironment(value, this.#environment);
    switch (expansion.kind) {
      case 'plain':
        return this.#storable(value, path);
      case 'expanded':
        for (const used of expansion.used) this.#secrets.set(used.value, used.name);
        return this.#storable(expansion.text, path);
      case 'absent':
        this.#emptyVariables.set(formatPath(path), expansion.name);
        return ABSENT;
      case 'faulty':
        this.collector.fault(path, expansion.message);
        this.#emptyVariables.set(formatPath(path), '');
        return ABSENT;
    }
  }

  #storable(text: string, path: ConfigPath): string {
    if (UNSTORABLE.test(text))
      this.collector.fault(
        path,
        'holds a NUL or half of a surrogate pair, which no database can store: write the text without it',
      );
    return text;
  }

  #startOf(node: unknown): number | null {
    const range = (node as { range?: readonly number[] | null } | null)?.range;
    return range?.[0] === undefined ? null : this.#lineCounter.linePos(range[0]).line;
  }

  readonly #lineOf = (path: ConfigPath): number | null => {
    for (let length = path.length; length > 0; length--) {
      const line = this.#lines.get(formatPath(path.slice(0, length)));
      if (line !== undefined) return line;
    }
    return null;
  };

  /** A value of the environment that got into a name, and from there into a message, is named instead. */
  readonly #redact = (text: string): string => {
    let redacted = text;
    for (const [value, name] of this.#secrets)
      if (value.length >= 4) redacted = redacted.replaceAll(value, `\${${name}}`);
    return redacted;
  };
}
