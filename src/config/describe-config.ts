import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Fault, type Path, pathText } from './fault.ts';
import { type ConfigSource, factsSourceOf } from './load.ts';
import { applyMetadata } from './model-metadata/apply-metadata.ts';
import { readYaml, type Tree } from './read-yaml.ts';
import { rootSchema } from './schema.ts';
import { addSchemaFaults } from './schema-faults.ts';
import { Secret } from './secret.ts';
import { memberOf, membersOf, valueAt } from './tree.ts';

/**
 * Where a value comes from: the file, an environment variable or another file that it names, the
 * public facts of models, the command line or the environment of the server, or nowhere, which means
 * its default.
 */
export const valueOrigins = ['file', 'outside', 'facts', 'command_line', 'environment', 'default'] as const;
export type ValueOrigin = (typeof valueOrigins)[number];

/** One value of a configuration, fit to be shown. */
export interface DescribedValue {
  /** As messages name it: `models[0].id`. */
  readonly path: string;
  /** Masked when it is a secret or comes from outside. */
  readonly shown: string;
  readonly origin: ValueOrigin;
  /** Of the real value: equal for equal values. Never shown. */
  readonly digest: string;
}

/** A configuration as it would be in effect, or its faults. */
export type DescribedConfig =
  | { readonly ok: true; readonly values: readonly DescribedValue[] }
  | { readonly ok: false; readonly faults: readonly Fault[] };

const mask = '***';

/** Describes every value of a configuration, defaults included. Never throws. */
export function describeConfig(source: ConfigSource): DescribedConfig {
  const { tree: read, sourceMap } = readYaml(source.text, source);
  if (read === null) return { ok: false, faults: sourceMap.faults() };
  const { tree } = applyMetadata(read, factsSourceOf(read, source), sourceMap);
  const parsed = rootSchema.safeParse(tree);
  if (!parsed.success) addSchemaFaults(parsed.error.issues, tree, sourceMap);
  if (!parsed.success || sourceMap.faults().length > 0) return { ok: false, faults: sourceMap.faults() };
  const originOf = (path: Path): ValueOrigin => {
    if (valueAt(read, path) !== undefined) return sourceMap.isFromOutside(path) ? 'outside' : 'file';
    return valueAt(tree, path) === undefined ? 'default' : 'facts';
  };
  const values = [...valuesIn(rootSchema, tree, [])].map(({ path, text, isSecret }): DescribedValue => {
    const origin = originOf(path);
    const isHidden = isSecret || origin === 'outside' || path.includes('env');
    const described = describedValue(pathText(path), text, origin);
    return { ...described, shown: isHidden ? mask : withoutPassword(text) };
  });
  return { ok: true, values };
}

/** A value that may be shown as it is. */
export function describedValue(path: string, text: string, origin: ValueOrigin): DescribedValue {
  return { path, shown: text, origin, digest: createHash('sha256').update(text).digest('base64') };
}

interface StatedValue {
  readonly path: Path;
  readonly text: string;
  readonly isSecret: boolean;
}

/** The values of a tree without faults and the defaults of its type, depth first. */
function* valuesIn(type: z.core.$ZodType, tree: Tree | undefined, path: Path): Generator<StatedValue> {
  if (type instanceof z.ZodPrefault)
    yield* valuesIn(type.unwrap(), tree ?? (type.def.defaultValue as Tree), path);
  else if (tree === undefined || tree === null) return;
  else if (typeof tree === 'string')
    yield { path, text: tree, isSecret: z.parse(type, tree) instanceof Secret };
  else if (type instanceof z.ZodOptional) yield* valuesIn(type.unwrap(), tree, path);
  else if (type instanceof z.ZodPipe) yield* valuesIn(type.in, tree, path);
  else
    for (const [step, innerType, inner] of innerOf(type, tree))
      yield* valuesIn(innerType, inner, [...path, step]);
}

function innerOf(
  type: z.core.$ZodType,
  tree: Tree,
): readonly (readonly [string | number, z.core.$ZodType, Tree | undefined])[] {
  const members = membersOf(tree);
  if (type instanceof z.ZodArray)
    return (tree as readonly Tree[]).map((item, at) => [at, type.element, item]);
  if (type instanceof z.ZodObject)
    return Object.entries(type.shape).map(([name, member]) => [name, member, memberOf(members, name)]);
  const { valueType } = type as z.ZodRecord;
  return Object.entries(members).map(([name, value]) => [name, valueType, value]);
}

/** A URL without the credentials in it. */
function withoutPassword(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, `$1${mask}@`);
}
