import type { ParameterOverrides, Variant } from '../config/variants.ts';
import type { Price } from '../money/price.ts';
import type { InputModality } from '../wire/chat.ts';

/**
 * All own slots together are one provider; one slot is its endpoint `naru/<slot>` (spec:api/11.7).
 */
export const ownProvider = { slug: 'naru', name: 'Naru' } as const;

/** One endpoint that can serve a model: an own slot, or an upstream provider. */
export interface Candidate {
  /** Unique within the model: `slot/<name>` or `<provider slug>/<upstream model>`. */
  readonly label: string;
  readonly via:
    | { readonly kind: 'slot'; readonly slot: string }
    | { readonly kind: 'provider'; readonly provider: string };
  /** The model's catalogue id. */
  readonly modelId: string;
  /** Its name at the provider; the engine's own name for a slot comes with its lease. */
  readonly upstreamModel: string;
  /**
   * The value of `X-Service-Provider` and of the endpoint's `tag`: a provider's slug, or
   * `naru/<slot>`.
   */
  readonly providerTag: string;
  /** The display name; `Naru` for every own slot. */
  readonly providerName: string;
  readonly contextLength: number;
  readonly maxCompletionTokens: number;
  readonly inputs: ReadonlySet<InputModality | 'text'>;
  /** Null when nothing is declared: then every known parameter counts as supported. */
  readonly supportedParameters: ReadonlySet<string> | null;
  /** The parameters that are sent: those declared, else those that its API takes. */
  readonly acceptedParameters: readonly string[];
  /** The API, where its dialect has several. */
  readonly variant: Variant;
  /** Changes of single parameters, whatever that API takes. */
  readonly overrides: ParameterOverrides;
  /** How its weights are quantized; null when not stated. */
  readonly quantization: string | null;
  /** Whether the provider may keep prompts or train on them. */
  readonly dataCollection: boolean;
  /** Whether the provider retains nothing of a request (zero data retention). */
  readonly zdr: boolean;
  /** Whether its text may be used to train other models. */
  readonly distillable: boolean;
  /**
   * Its weight beside the neighbours that state one too; 0: only when no other candidate is left;
   * null: not stated.
   */
  readonly weight: number | null;
  readonly price: Price;
  /**
   * The published version of the price; every generation stores the one that it was billed with.
   */
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
  /**
   * The defaults of parameters that a request leaves out, under their names on the wire; null when
   * not stated.
   */
  readonly defaultParameters: Readonly<Record<string, number>> | null;
  readonly price: Price;
  readonly huggingFaceId: string | null;
  readonly knowledgeCutoff: string | null;
  readonly tokenizer: string | null;
  readonly candidates: readonly Candidate[];
}

/** What routing reads of the drains. */
export interface DrainView {
  isDrained(candidate: Pick<Candidate, 'modelId' | 'label'>): boolean;
}

/** No candidate is drained, or that is not known. */
export const noDrains: DrainView = { isDrained: () => false };
