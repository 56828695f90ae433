import type { Config } from './config.ts';
import { freezeDeep } from './freeze.ts';
import { Secret } from './secret.ts';

/**
 * Encodes a configuration for the channel between a parent and its worker. Plain JSON cannot
 * represent its amounts and secrets. A worker uses the configuration of its parent and reads no
 * file, which may have changed or be half written.
 */
export function encodeConfig(config: Config): string {
  return JSON.stringify(packed(config));
}

/** Decodes a configuration. */
export function decodeConfig(text: string): Config {
  return freezeDeep(unpacked(JSON.parse(text)) as Config);
}

/** Values that JSON lacks become arrays of a tag and a text; real arrays get a tag too. */
function packed(value: unknown): unknown {
  if (typeof value === 'bigint') return ['n', String(value)];
  if (value instanceof Secret) return ['s', value.reveal()];
  if (Array.isArray(value)) return ['l', value.map(packed)];
  if (typeof value !== 'object' || value === null) return value;
  if (Object.getPrototypeOf(value) !== Object.prototype && Object.getPrototypeOf(value) !== null)
    throw new Error('a configuration has only plain values, amounts and secrets');
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, packed(inner)]));
}

function unpacked(value: unknown): unknown {
  if (Array.isArray(value)) {
    const [tag, content] = value as readonly unknown[];
    if (tag === 'n') return BigInt(content as string);
    if (tag === 's') return new Secret(content as string);
    return (content as readonly unknown[]).map(unpacked);
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, unpacked(inner)]));
}
