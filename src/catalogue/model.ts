import type { ParameterOverrides, Variant } from '../config/variants.ts';
import type { Price } from '../money/price.ts';
import type { InputModality } from '../wire/chat.ts';

/** All own slots together are one provider; one slot is its endpoint `naru/<slot>` (spec:api/11.7). */
export const ownProvider = { slug: 'naru', name: 'Naru' } as const;

/** One place where a model can be answered: an own slot, or an upstream provider. */
export interface Candidate {
  /** Unique within the model: `slot/<name>` or `<provider slug>/<upstream model>`. */
  readonly label: string;
  readonly via:
    | { readonly kind: 'slot'; readonly slot: string }
    | { readonly kind: 'provider'; readonly provider: string };
  /** The model's catalogue id. */
  readonly modelId: string;
  /** What it is called at the provider; the engine's own name for a slot comes with its lease. */
  readonly upstreamModel: string;
  /** What `X-Service-Provider` and the endpoint's `tag` name: a provider's slug, or `naru/<slot>`. */
  readonly providerTag: string;
  /** For people; `Naru` for every own slot. */
  readonly providerName: string;
  readonly contextLength: number;
  readonly maxCompletionTokens: number;
  readonly inputs: ReadonlySet<InputModality | 'text'>;
  /** Null when nothing is declared: then every known parameter is taken to be understood. */
  readonly supportedParameters: ReadonlySet<string> | null;
  /** What is passed on: what is declared, else what its API takes. */
  readonly acceptedParameters: readonly string[];
  /** Which API it is, where its dialect has several. */
  readonly variant: Variant;
  /** What becomes of single parameters, whatever that API takes. */
  readonly overrides: ParameterOverrides;
  /** How its weights are quantized; null when not stated. */
  readonly quantization: string | null;
  /** Whether prompts may be kept or learnt from. */
  readonly dataCollection: boolean;
  /** Whether nothing of a request is retained. */
  readonly zdr: boolean;
  /** Its share beside the neighbours that state one too; 0: only when nothing else is left; null: not stated. */
  readonly weight: number | null;
  readonly price: Price;
  /** The published version of the price; every generation stores the one that it was billed with. */
  readonly priceVersion: number;
}

/** One model of the catalogue. */
export interface Model {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Unix seconds. */
  readonly created: number;
  readonly contextLength: number;
  readonly maxCompletionTokens: number;
  readonly inputModalities: readonly string[];
  readonly outputModalities: readonly string[];
  readonly supportedParameters: readonly string[];
  /** What it uses for parameters that a request leaves out, under their names on the wire; null when not stated. */
  readonly defaultParameters: Readonly<Record<string, number>> | null;
  readonly price: Price;
  readonly huggingFaceId: string | null;
  readonly knowledgeCutoff: string | null;
  readonly tokenizer: string | null;
  readonly candidates: readonly Candidate[];
}
