import { readFileSync } from 'node:fs';
import type { ModelMetadataSource } from './metadata.ts';

/** The snapshot of public facts that is shipped with this version of Naru. */
export const shippedFacts: ModelMetadataSource = {
  read: () => readFileSync(new URL('../../../data/model-metadata.json', import.meta.url), 'utf8'),
  origin: 'shipped with Naru',
};
