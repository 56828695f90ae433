import { createHash } from 'node:crypto';
import { type Krw, krwToDecimal } from '../money/krw.ts';
import { type Fault, type Path, pathText } from './fault.ts';
import { type ConfigSource, factsSourceOf } from './load.ts';
import { applyMetadata } from './model-metadata/apply-metadata.ts';
import { readYaml, type Tree } from './read-yaml.ts';
import { rootSchema } from './schema.ts';
import { addSchemaFaults } from './schema-faults.ts';
import { Secret } from './secret.ts';

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
    if (isAt(read, path)) return sourceMap.isFromOutside(path) ? 'outside' : 'file';
    return isAt(tree, path) ? 'facts' : 'default';
  };
  const values = [...leavesOf(parsed.data, [])].map(({ path, value }): DescribedValue => {
    const origin = originOf(path);
    const text = textOf(value);
    const isHidden = value instanceof Secret || origin === 'outside' || path.includes('env');
    const described = describedValue(pathText(path), text, origin);
    return { ...described, shown: isHidden ? mask : withoutPassword(text) };
  });
  return { ok: true, values };
}

/** A value that may be shown as it is. */
export function describedValue(path: string, text: string, origin: ValueOrigin): DescribedValue {
  return { path, shown: text, origin, digest: createHash('sha256').update(text).digest('base64') };
}

/** As the file would have it: an amount is in won. */
function textOf(value: unknown): string {
  if (value instanceof Secret) return value.reveal();
  if (typeof value !== 'bigint') return String(value);
  const [whole = '', decimals = ''] = krwToDecimal(value as Krw).split('.');
  const fraction = decimals.replace(/(?<!0)0+$/, '');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** The values in it, depth first; an empty list or mapping has none. */
function* leavesOf(value: unknown, path: Path): Generator<{ readonly path: Path; readonly value: unknown }> {
  if (value === undefined || value === null) return;
  if (Array.isArray(value)) for (const [at, item] of value.entries()) yield* leavesOf(item, [...path, at]);
  else if (typeof value === 'object' && !(value instanceof Secret))
    for (const [name, inner] of Object.entries(value)) yield* leavesOf(inner, [...path, name]);
  else yield { path, value };
}

/** Whether the tree has a value at the path. */
function isAt(tree: Tree, path: Path): boolean {
  let at: unknown = tree;
  for (const step of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return false;
    at = (at as Record<string | number, unknown>)[step];
  }
  return true;
}

/** A URL without the credentials in it. */
function withoutPassword(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, `$1${mask}@`);
}
