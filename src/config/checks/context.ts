import type { MappingOf } from '../mapping.ts';
import type { AppliedMetadata } from '../model-metadata/apply-metadata.ts';
import type { ModelMetadata } from '../model-metadata/metadata.ts';
import type { ExchangeRate } from '../rates.ts';
import type { rootSchema } from '../schema.ts';
import type { candidate, model } from '../schema-models.ts';
import type { gpu, slot } from '../schema-slots.ts';

export type FileMapping = MappingOf<typeof rootSchema>;
export type SlotMapping = MappingOf<typeof slot>;
export type GpuMapping = MappingOf<typeof gpu>;
export type ModelMapping = MappingOf<typeof model>;
export type CandidateMapping = MappingOf<typeof candidate>;

/** The facts that a file was filled from; null without facts. */
export interface KnownMetadata {
  readonly metadata: ModelMetadata | null;
  readonly applied: AppliedMetadata | null;
}

/** The names of a list's items, each with the index of its first use. */
export type Names = ReadonlyMap<string, number>;

/** The exchange rate; `unstated` when there is none, `faulty` when the schema rejects it. */
export type Exchange = ExchangeRate | 'unstated' | 'faulty';

/** What a model is checked against. */
export interface ModelContext {
  readonly providers: Names;
  /** The providers whose API requires a maximum of completion tokens. */
  readonly maxRequired: ReadonlySet<string | undefined>;
  readonly slots: Names;
  readonly known: KnownMetadata;
  readonly exchange: Exchange;
}
