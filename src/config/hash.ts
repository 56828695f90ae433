import { createHash } from 'node:crypto';
import type { Config } from './config.ts';

const hashes = new WeakMap<Config, string>();

/**
 * Twelve hexadecimal digits that are the same for the same configuration, so that people see which
 * servers have another one. Secrets do not count: their hash could be guessed from.
 */
export function hashOf(config: Config): string {
  const known = hashes.get(config);
  if (known !== undefined) return known;
  const text = JSON.stringify(config, (_name, value) => (typeof value === 'bigint' ? String(value) : value));
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 12);
  hashes.set(config, hash);
  return hash;
}
