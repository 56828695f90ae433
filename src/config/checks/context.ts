import type { ExchangeConfig } from '../config.ts';
import type { Mapping } from '../mapping.ts';
import type { AppliedMetadata } from '../model-metadata/apply-metadata.ts';
import type { ModelMetadata } from '../model-metadata/metadata.ts';
import type { rootSchema } from '../schema.ts';
import type { candidate, model } from '../schema-models.ts';
import type { gpu, slot } from '../schema-upstreams.ts';

export type FileMapping = Mapping<typeof rootSchema>;
export type SlotMapping = Mapping<typeof slot>;
export type GpuMapping = Mapping<typeof gpu>;
export type ModelMapping = Mapping<typeof model>;
export type CandidateMapping = Mapping<typeof candidate>;

/** The facts that a file was filled from; null without facts. */
export interface KnownMetadata {
  readonly metadata: ModelMetadata | null;
  readonly applied: AppliedMetadata | null;
}

/** The names of a list's items, each with the index of its first use. */
export type Names = ReadonlyMap<string, number>;

/** The exchange rate; `unstated` when there is none, `faulty` when the schema rejects it. */
export type Exchange = ExchangeConfig | 'unstated' | 'faulty';

/** What a model is checked against. */
export interface ModelContext {
  readonly providers: Names;
  readonly slots: Names;
  readonly known: KnownMetadata;
  readonly exchange: Exchange;
}
