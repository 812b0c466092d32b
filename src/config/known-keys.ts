import type { ConfigPath } from './config-fault.ts';

/** As much of a zod schema's definition as is needed to walk through it. */
interface Definition {
  readonly type: string;
  readonly innerType?: Schema;
  readonly in?: Schema;
  readonly out?: Schema;
  readonly element?: Schema;
  readonly valueType?: Schema;
  readonly shape?: Readonly<Record<string, Schema>>;
  readonly options?: readonly Schema[];
}
interface Schema {
  readonly def: Definition;
}

/** The keys that a schema allows in the object at `path`; none where it has no say there. */
export function knownKeysAt(schema: unknown, path: ConfigPath): readonly string[] {
  return objectsAt(schema as Schema, path).flatMap(({ def }) => Object.keys(def.shape ?? {}));
}

function objectsAt(schema: Schema | undefined, path: ConfigPath): readonly Schema[] {
  if (schema === undefined) return [];
  const { def } = schema;
  const wrapped = [def.innerType, ...(def.type === 'pipe' ? [def.in, def.out] : []), ...(def.options ?? [])];
  const within = wrapped.flatMap((inner) => objectsAt(inner, path));
  const [step, ...rest] = path;
  if (step === undefined) return def.shape === undefined ? within : [schema];
  const next = def.shape?.[step] ?? def.element ?? def.valueType;
  return [...within, ...objectsAt(next, rest)];
}
