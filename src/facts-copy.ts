import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { FactsSource } from './config/facts/facts.ts';
import type { FactsTaken } from './config/facts/fill.ts';
import { shippedFacts } from './config/facts/shipped.ts';

/** Where the operator's copy of the public facts is, unless the configuration names another place. */
export function factsCopyOf(dataDir: string): string {
  return join(dataDir, 'model-facts.json');
}

/** The operator's copy, or what came with Naru while there is none. */
export function usualFacts(dataDir: string): FactsSource {
  const path = factsCopyOf(dataDir);
  return existsSync(path) ? { read: () => readFileSync(path, 'utf8'), origin: path } : shippedFacts;
}

/** Makes the copy if what was taken came with Naru; a copy that is there stays. */
export function keepFacts(dataDir: string, taken: FactsTaken): void {
  const path = factsCopyOf(dataDir);
  if (taken.origin === shippedFacts.origin && !existsSync(path)) writeWhole(path, shippedFacts.read());
}

/** Replaces a file as a whole: whoever reads meanwhile sees the old one or the new one, and a failure leaves the old one. */
export function writeWhole(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const beside = `${path}.new`;
  try {
    writeFileSync(beside, text, { mode: 0o644, flush: true });
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}
