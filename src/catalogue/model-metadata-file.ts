import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { AppliedMetadata } from '../config/model-metadata/apply-metadata.ts';
import type { ModelMetadataSource } from '../config/model-metadata/metadata.ts';
import { shippedFacts } from '../config/model-metadata/shipped.ts';
import { makeFolder } from '../store/make-folder.ts';

/** The default path of the local copy of the model metadata. */
export function metadataFileOf(dataDir: string): string {
  return join(dataDir, 'model-facts.json');
}

/** The local copy, or the one shipped with Naru if there is none. */
export function defaultMetadata(dataDir: string): ModelMetadataSource {
  const path = metadataFileOf(dataDir);
  return existsSync(path) ? { read: () => readFileSync(path, 'utf8'), origin: path } : shippedFacts;
}

/** Creates the local copy if the shipped metadata was used; never replaces an existing copy. */
export function storeMetadata(dataDir: string, taken: AppliedMetadata): void {
  const path = metadataFileOf(dataDir);
  if (taken.origin !== shippedFacts.origin || existsSync(path)) return;
  writeBeside(path, shippedFacts.read(), (beside) => {
    if (!existsSync(path)) linkSync(beside, path);
  });
}

/**
 * Replaces a file atomically: readers see the old or the new one, and a failure leaves the old one.
 */
export function writeWhole(path: string, text: string): void {
  writeBeside(path, text, (beside) => renameSync(beside, path));
}

function writeBeside(path: string, text: string, put: (beside: string) => void): void {
  makeFolder(dirname(path), 0o700);
  const beside = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(beside, text, { mode: 0o644, flush: true });
    put(beside);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EEXIST') throw error;
  } finally {
    rmSync(beside, { force: true });
  }
}
