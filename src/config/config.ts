import type { Krw } from '../money/krw.ts';
import type { Price } from '../money/price.ts';
import type { Secret } from './secret.ts';
import type { SlotSettings } from './slot.ts';
import type { ParameterOverrides, Variant } from './variants.ts';

/** How long the journal keeps what is settled at most for standbys that lack it, where the file does not say how long. */
export const defaultKeepSettledMs = 600_000;

/** What `naru.yaml` says, with every default filled in and every reference checked (spec:operator/2.1). Frozen all through. */
export interface Config {
  readonly listen: Address;
  /** Where `/metrics` and `/route` answer: always a loopback address. */
  readonly admin: Address;
  readonly database: { readonly url: 'embedded' | Secret };
  readonly edge: {
    readonly rateLimit: 'builtin' | 'external';
    /** Addresses and CIDRs whose `X-Forwarded-For` is believed. */
    readonly trustedProxies: readonly string[];
  };
  readonly keys: {
    /** What every plaintext key begins with, such as `sk-naru-`. */
    readonly prefix: string;
    /** Keys of an account that are not revoked. */
    readonly maxPerAccount: number;
  };
  readonly log: { readonly level: 'debug' | 'info' | 'warn' | 'error' };
  readonly limits: LimitsConfig;
  readonly routing: RoutingConfig;
  readonly settlement: {
    readonly ack: 'journal' | 'database';
    /** Null: as long as the journal decides by the standbys that it sees. */
    readonly keepSettledMs: number | null;
  };
  /** How USD prices became won; null when the file states no rate, and then no price is in USD. */
  readonly exchange: ExchangeConfig | null;
  readonly providers: readonly ProviderConfig[];
  readonly slots: readonly SlotSettings[];
  readonly gpus: readonly GpuConfig[];
  readonly models: readonly ModelConfig[];
  readonly datasets: {
    /** Null: nothing is synced. */
    readonly syncKey: Secret | null;
    readonly samples: boolean;
    /** The API that the datasets are read from, without a slash at its end. */
    readonly baseUrl: string;
  };
}

/** An address to listen on. Port 0 lets the system choose. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The limits of spec:errors/7 and spec:errors/8. */
export interface LimitsConfig {
  /** An account whose balance is below minus this much is refused. Never negative. */
  readonly debtFloorKrw: Krw;
  /** From the request to its first upstream byte, over all candidates. */
  readonly upstreamTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** From the request to a provider to the first byte of its response; null when the file does not say. */
  readonly firstByteTimeoutMs: number | null;
  /** The same while another candidate is left, when the file does not say: of a streamed request and of a whole one. */
  readonly fallbackStreamMs: number;
  readonly fallbackWholeMs: number;
  readonly streamIdleTimeoutMs: number;
  /** Of the calls to all candidates of a request together, to the last byte; null: no such limit. */
  readonly totalTimeoutMs: number | null;
  readonly drainTimeoutMs: number;
  /** The same after an error that nothing caught. */
  readonly crashDrainTimeoutMs: number;
  readonly coldWaitMs: number;
  readonly keepAliveCommentMs: number;
  readonly bodyBytes: number;
  /** What all requests of the server may hold in memory; null: derived from the machine. */
  readonly memoryBytes: number | null;
  /** The share of it that one address, or one key, may hold. */
  readonly clientMemoryPercent: number;
  /** 0: a body may come as slowly as it likes. */
  readonly minBodyBytesPerSecond: number;
  /** Of one address, or one key; 0: as fast as they come. */
  readonly bodyBytesPerSecond: number;
  readonly connectionsPerClient: number;
  readonly requestsPerSecond: number;
  readonly burst: number;
}

/** When a candidate is tried later than others, because of how it did lately. */
export interface RoutingConfig {
  /** Failures in a row that open a candidate's circuit. */
  readonly circuitFailures: number;
  readonly circuitOpenMs: number;
  readonly maxCircuitOpenMs: number;
  /** After a 429 that does not say for how long. */
  readonly coolDownMs: number;
  /** The longest `Retry-After` that is believed. */
  readonly maxCoolDownMs: number;
}

/** Decimal text as the file states it, so that the rate can be recorded and recomputed exactly. */
export interface ExchangeConfig {
  /** Won for one US dollar. */
  readonly usdKrw: string;
  /** What is added on conversion, in percent. */
  readonly marginPercent: string;
}

/** An upstream (spec:operator/2.1, `providers:`). */
export interface ProviderConfig {
  readonly slug: string;
  readonly name: string;
  readonly dialect: 'openai' | 'anthropic' | 'google' | 'bedrock';
  /** Which API that speaks `openai` it is; null: the host of `baseUrl` tells. */
  readonly variant: Variant | null;
  /** What becomes of single parameters whatever the API is known to take: another name, `drop` or `keep`. */
  readonly parameters: ParameterOverrides;
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** Null: requests carry no credential. */
  readonly apiKey: Secret | null;
  /** What requests to AWS are signed with; null for every dialect but `bedrock`, where `apiKey` or the two keys are there. */
  readonly aws: {
    readonly region: string;
    readonly accessKeyId: Secret | null;
    readonly secretAccessKey: Secret | null;
    readonly sessionToken: Secret | null;
  } | null;
  /** Sent with every request; header names in lower case. Values may be credentials. */
  readonly headers: Readonly<Record<string, Secret>>;
  /** The provider's own, else that of `limits`. */
  readonly connectTimeoutMs: number;
  /** The provider's own, else that of `limits`. */
  /** Null: `limits` decide. */
  readonly firstByteTimeoutMs: number | null;
  /** Sockets to this provider at once; null: no limit. */
  readonly maxConnections: number | null;
  readonly privacyPolicyUrl: string | null;
  readonly termsOfServiceUrl: string | null;
  readonly statusPageUrl: string | null;
}

/** What the slots may use of a GPU. */
export interface GpuConfig {
  readonly id: string;
  readonly vramMb: number;
}

/** What goes into or comes out of a model. */
export type Modality = 'text' | 'image' | 'file' | 'audio' | 'video';

/** A model of the catalogue (spec:operator/2.1, `models:`). */
export interface ModelConfig {
  /** `author/slug`, matched exactly (spec:api/11.1). */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Civil time, epoch milliseconds; null when not stated. */
  readonly createdMs: number | null;
  readonly contextLength: number;
  readonly maxCompletionTokens: number | null;
  readonly inputModalities: readonly Modality[];
  readonly outputModalities: readonly Modality[];
  /** Null: nothing is declared, so every known parameter is passed on. */
  readonly supportedParameters: readonly string[] | null;
  /** Under their names on the wire; null when not stated. */
  readonly defaultParameters: Readonly<Record<string, number>> | null;
  readonly huggingFaceId: string | null;
  /** `YYYY-MM-DD`. */
  readonly knowledgeCutoff: string | null;
  readonly tokenizer: string | null;
  /** What the listing shows: the model's own price, else that of its first candidate. */
  readonly price: Price;
  /** At least one, in the order of the file. */
  readonly candidates: readonly CandidateConfig[];
}

/**
 * What the file says a price is, so that the rates can be computed again. Amounts are plain decimal text without needless
 * zeros (`0.15`), for as many units as `per` says; `request` is for one request.
 */
export interface StatedPrice {
  readonly currency: 'KRW' | 'USD';
  readonly per: 'token' | '1K' | '1M';
  readonly prompt: string;
  readonly completion: string;
  readonly request: string;
  /** Null: `prompt` holds. */
  readonly cacheRead: string | null;
  /** Null: `prompt` holds. */
  readonly cacheWrite: string | null;
  /** Won for one dollar when it was converted; null for a price in won. */
  readonly usdKrw: string | null;
  /** Added on conversion, in percent; null for a price in won. */
  readonly marginPercent: string | null;
  /** The day of the public facts that it was taken from (`YYYY-MM-DD`); null when the file states it. */
  readonly factsAsOf: string | null;
}

/** One way to serve a model. What it does not state itself is the model's. */
export interface CandidateConfig {
  readonly target:
    | { readonly kind: 'slot'; readonly slot: string }
    /** `model` is the upstream's name for it; the model's id when the file does not say. */
    | { readonly kind: 'provider'; readonly provider: string; readonly model: string };
  readonly contextLength: number;
  readonly maxCompletionTokens: number | null;
  readonly inputModalities: readonly Modality[];
  readonly supportedParameters: readonly string[] | null;
  /** As those of its provider, over them. */
  readonly parameters: ParameterOverrides;
  readonly quantization: string | null;
  readonly price: Price;
  readonly stated: StatedPrice;
  /** ≥ 0, relative to the neighbours that state one too; 0: only when nothing else is left; null: not stated. */
  readonly weight: number | null;
  /** Whether the upstream may keep or learn from prompts: false for a slot, true for a provider without `zdr`, unless stated. */
  readonly dataCollection: boolean;
  /** Whether nothing is retained: true for a slot, false for a provider, unless stated. */
  readonly zdr: boolean;
}
