import type { Krw } from '../money/krw.ts';
import type { Price } from '../money/price.ts';
import type { Secret } from './secret.ts';
import type { SlotSettings } from './slot.ts';
import type { ParameterOverrides, Variant } from './variants.ts';

/** The default for how long the journal keeps settlements that a standby may lack. */
export const defaultKeepSettledMs = 600_000;

/**
 * The content of `naru.yaml`, with every default filled in and every reference checked
 * (spec:operator/2.1). Deeply frozen.
 */
export interface Config {
  readonly listen: Address;
  /** Serves `/metrics` and `/route`: always a loopback address. */
  readonly admin: Address;
  readonly database: { readonly url: 'embedded' | Secret };
  readonly edge: {
    readonly rateLimit: 'builtin' | 'external';
    /** Addresses and CIDRs whose `X-Forwarded-For` is trusted. */
    readonly trustedProxies: readonly string[];
  };
  readonly auth: AuthConfig;
  /** What the console compares prepaid credit with; nothing is refused by it. */
  readonly liability: { readonly outstanding: Krw; readonly issued: Krw };
  readonly keys: {
    /** The prefix of every plaintext key, such as `sk-naru-`. */
    readonly prefix: string;
    /** Maximum number of keys of an account that are not revoked. */
    readonly maxPerAccount: number;
  };
  readonly log: { readonly level: 'debug' | 'info' | 'warn' | 'error' };
  readonly limits: LimitsConfig;
  readonly routing: RoutingConfig;
  readonly settlement: {
    readonly ack: 'journal' | 'database';
    /** Null: the journal decides by the standbys that it sees. */
    readonly keepSettledMs: number | null;
  };
  /**
   * How USD prices are converted to won; null when the file states no rate, and then no price is in
   * USD.
   */
  readonly exchange: ExchangeConfig | null;
  readonly providers: readonly ProviderConfig[];
  readonly slots: readonly SlotSettings[];
  readonly gpus: readonly GpuConfig[];
  readonly models: readonly ModelConfig[];
  /** The public metadata that rows of models take from; null when none does. */
  readonly metadata: { readonly asOf: string; readonly source: string } | null;
  readonly datasets: {
    /** Null: nothing is synced. */
    readonly syncKey: Secret | null;
    readonly samples: boolean;
    /** The API that the datasets are read from, without a trailing slash. */
    readonly baseUrl: string;
  };
  /** Null: calls are not traced. */
  readonly tracing: TracingConfig | null;
  /** Null: no backup is made by itself, and none is encrypted. */
  readonly backup: BackupConfig | null;
}

/** Backups. */
export interface BackupConfig {
  /** Null: none is made by itself. */
  readonly schedule: ScheduleConfig | null;
  /** Null only without a schedule. */
  readonly place: BackupPlaceConfig | null;
  /** A backup stays while it is one of the newest `count`, or younger than `ageDays`. */
  readonly keep: { readonly count: number; readonly ageDays: number | null };
  readonly encryptionKey: Secret | null;
  /** When the newest backup is restored and verified; null: never by itself. */
  readonly drill: ScheduleConfig | null;
  /** The age of the last good backup at which the alarm fires; null without a schedule. */
  readonly maxAgeHours: number | null;
}

/** Runs at fixed times. */
export interface ScheduleConfig {
  readonly everyHours: number;
  /** The time of one run, in minutes after midnight in Seoul. */
  readonly atMinute: number;
}

/** Where backups are kept. */
export type BackupPlaceConfig =
  | {
      readonly kind: 'folder';
      /** An absolute path. */
      readonly directory: string;
    }
  | S3PlaceConfig;

/** A bucket of S3 or of a compatible store. */
export interface S3PlaceConfig {
  readonly kind: 's3';
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Without slashes at its ends. */
  readonly prefix: string;
  readonly accessKeyId: Secret;
  readonly secretAccessKey: Secret;
  /** Whether the bucket is in the path of the URL, not in its host. */
  readonly pathStyle: boolean;
}

/** Where the traces of calls are sent. */
export interface TracingConfig {
  readonly otlpUrl: string;
  /** Values may be credentials. */
  readonly headers: Readonly<Record<string, Secret>>;
  /** From 0 to 100. */
  readonly samplePercent: number;
}

/** Sign-in to the dashboard and the console. */
export interface AuthConfig {
  /** The origin at which browsers reach the dashboard; null: not stated. */
  readonly publicUrl: string | null;
  /** The most credit that an operator with the role support may grant in a day of Seoul. */
  readonly supportCreditLimit: Krw;
  readonly oidc: OidcConfig | null;
}

/** An OpenID provider. */
export interface OidcConfig {
  /** What the sign-in page calls it. */
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  /** Domains whose addresses may sign in, in lower case; empty: all. */
  readonly allowedDomains: readonly string[];
  /** Whether a person without an account gets one. */
  readonly createAccounts: boolean;
}

/** An address to listen on. Port 0 lets the system choose. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The limits of spec:errors/7 and spec:errors/8. */
export interface LimitsConfig {
  /** An account whose balance is below minus this amount is refused. Never negative. */
  readonly debtFloorKrw: Krw;
  /** From the request to its first upstream byte, over all candidates. */
  readonly upstreamTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** From the request to one provider to the first byte of its response; null: not set. */
  readonly firstByteTimeoutMs: number | null;
  /**
   * The default of that while another candidate is left: for a streamed request and for a
   * non-streamed one.
   */
  readonly fallbackStreamMs: number;
  readonly fallbackWholeMs: number;
  readonly streamIdleTimeoutMs: number;
  /** For the calls to all candidates of a request together, to the last byte; null: no limit. */
  readonly totalTimeoutMs: number | null;
  readonly drainTimeoutMs: number;
  /** The same after an uncaught error. */
  readonly crashDrainTimeoutMs: number;
  readonly coldWaitMs: number;
  readonly keepAliveCommentMs: number;
  readonly bodyBytes: number;
  /** The memory that all requests of the server may use; null: derived from the machine. */
  readonly memoryBytes: number | null;
  /** The share of it for one key; without a key for one address. */
  readonly clientMemoryPercent: number;
  /** 0: any pace. */
  readonly minBodyBytesPerSecond: number;
  readonly connectionsPerClient: number;
  readonly requestsPerSecond: number;
  readonly burst: number;
}

/** When a candidate is demoted because of its recent results. */
export interface RoutingConfig {
  /** Consecutive failures that open a candidate's circuit. */
  readonly circuitFailures: number;
  readonly circuitOpenMs: number;
  readonly maxCircuitOpenMs: number;
  /** After a 429 without a valid `Retry-After`. */
  readonly coolDownMs: number;
  /** The longest `Retry-After` that is accepted. */
  readonly maxCoolDownMs: number;
}

/** Decimal text as stated in the file, so that the rate can be recorded and recomputed exactly. */
export interface ExchangeConfig {
  /** Won for one US dollar. */
  readonly usdKrw: string;
  /** Added on conversion, in percent. */
  readonly marginPercent: string;
}

/** An upstream (spec:operator/2.1, `providers:`). */
export interface ProviderConfig {
  readonly slug: string;
  readonly name: string;
  readonly dialect: 'openai' | 'anthropic' | 'google' | 'bedrock';
  /** The API with the dialect `openai`; null: determined by the host of `baseUrl`. */
  readonly variant: Variant | null;
  /** Overrides of single parameters, whatever the API accepts: another name, `drop` or `keep`. */
  readonly parameters: ParameterOverrides;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** Null: requests carry no credential. */
  readonly apiKey: Secret | null;
  /**
   * Credentials to sign AWS requests; null for every dialect but `bedrock`, which has `apiKey` or
   * the two keys.
   */
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
  /** Null: `limits` apply. */
  readonly firstByteTimeoutMs: number | null;
  /** Sockets to this provider at once; null: no limit. */
  readonly maxConnections: number | null;
  readonly privacyPolicyUrl: string | null;
  readonly termsOfServiceUrl: string | null;
  readonly statusPageUrl: string | null;
}

/** The memory of a GPU that the slots may use. */
export interface GpuConfig {
  readonly id: string;
  readonly vramMb: number;
}

/** A kind of input or output of a model. */
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
  /** Null: not declared, so every known parameter is passed on. */
  readonly supportedParameters: readonly string[] | null;
  /** By their API names; null when not stated. */
  readonly defaultParameters: Readonly<Record<string, number>> | null;
  readonly huggingFaceId: string | null;
  /** `YYYY-MM-DD`. */
  readonly knowledgeCutoff: string | null;
  readonly tokenizer: string | null;
  /** At least one, in the order of the file. */
  readonly candidates: readonly CandidateConfig[];
}

/**
 * A price as stated, so that the rates can be recomputed. Amounts are plain decimal text without
 * redundant zeros (`0.15`), for as many units as `per` states; `request` is for one request.
 */
export interface StatedPrice {
  readonly currency: 'KRW' | 'USD';
  readonly per: 'token' | '1K' | '1M';
  readonly prompt: string;
  readonly completion: string;
  readonly request: string;
  /** Null: `prompt` applies. */
  readonly cacheRead: string | null;
  /** Null: `prompt` applies. */
  readonly cacheWrite: string | null;
  /** Absent: there is no such row. */
  readonly cacheWrite1h?: string;
  /** The amounts of service tiers, by their names in the file; absent: there are none. */
  readonly tiers?: StatedTiers;
  /** What it costs the operator; absent: it is not stated. */
  readonly upstream?: StatedUpstreamPrice;
  /** Won for one dollar when it was converted; null for a price in won. */
  readonly usdKrw: string | null;
  /** Added on conversion, in percent; null for a price in won. */
  readonly marginPercent: string | null;
  /**
   * The day of the public facts that it comes from (`YYYY-MM-DD`); null when the file states it.
   */
  readonly factsAsOf: string | null;
}

/** Amounts by the names of tiers and of the file's members. */
export type StatedTiers = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** What the upstream charges, as stated, so that it can be computed for any usage. */
export interface StatedUpstreamPrice {
  /** ISO 4217. */
  readonly currency: string;
  /** Won for one unit of the currency when it was published; null for won. */
  readonly rate: string | null;
  readonly per: StatedPrice['per'];
  /** By the file's members. */
  readonly amounts: Readonly<Record<string, string>>;
  readonly tiers?: StatedTiers;
}

/** One way to serve a model. Values that it does not state are the model's. */
export interface CandidateConfig {
  readonly target:
    | { readonly kind: 'slot'; readonly slot: string }
    /** `model` is the upstream's name of the model; the model's id by default. */
    | { readonly kind: 'provider'; readonly provider: string; readonly model: string };
  readonly contextLength: number;
  readonly maxCompletionTokens: number | null;
  readonly inputModalities: readonly Modality[];
  readonly supportedParameters: readonly string[] | null;
  /** As those of its provider, and taking precedence. */
  readonly parameters: ParameterOverrides;
  readonly quantization: string | null;
  readonly price: Price;
  readonly stated: StatedPrice;
  /** ≥ 0, relative to the neighbours with a weight; 0: tried last; null: not stated. */
  readonly weight: number | null;
  /**
   * Whether the upstream may store prompts or train on them: by default false for a slot, true for
   * a provider without `zdr`.
   */
  readonly dataCollection: boolean;
  /** Whether the upstream retains no data: by default true for a slot, false for a provider. */
  readonly zdr: boolean;
  /** Whether the model's text may be used to train other models: by default false. */
  readonly distillable: boolean;
}
