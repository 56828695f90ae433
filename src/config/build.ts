import { resolve } from 'node:path';
import { type BuiltPrice, buildPrice } from './build-price.ts';
import { buildProvider, buildSlot } from './build-upstreams.ts';
import type {
  Address,
  BackupConfig,
  CandidateConfig,
  Config,
  ExchangeConfig,
  ModelConfig,
  ScheduleConfig,
} from './config.ts';
import { type Outside, relativeToConfig } from './interpolate.ts';
import type { AppliedMetadata } from './model-metadata/apply-metadata.ts';
import type { ParsedFile } from './schema.ts';
import { instantOf } from './schema-models.ts';

type ParsedModel = ParsedFile['models'][number];
type ParsedBackup = NonNullable<ParsedFile['backup']>;
type ParsedCandidate = NonNullable<ParsedModel['candidates']>[number];

/**
 * The configuration of a valid file: our member names, money as integers, inherited values filled
 * in.
 */
export function buildConfig(file: ParsedFile, outside: Outside, metadata: AppliedMetadata | null): Config {
  const exchange: ExchangeConfig | null =
    file.exchange === undefined
      ? null
      : { usdKrw: file.exchange.usd_krw, marginPercent: file.exchange.margin_percent };
  const limits = buildLimits(file.limits);
  return {
    listen: addressOf(file.listen),
    admin: addressOf(file.admin),
    database: { url: file.database.url },
    edge: { rateLimit: file.edge.rate_limit, trustedProxies: file.edge.trusted_proxies },
    auth: buildAuth(file.auth),
    liability: { outstanding: file.liability.outstanding_krw, issued: file.liability.issued_krw },
    keys: { prefix: file.keys.prefix, maxPerAccount: file.keys.max_per_account },
    log: { level: file.log.level },
    limits,
    routing: buildRouting(file.routing),
    settlement: { ack: file.settlement.ack, keepSettledMs: file.settlement.keep_settled_ms ?? null },
    exchange,
    providers: file.providers.map((provider) => buildProvider(provider, limits)),
    slots: file.slots.map((slot) => buildSlot(slot, outside)),
    gpus: file.gpus.map(({ id, vram_mb }) => ({ id, vramMb: vram_mb })),
    models: file.models.map((model) => buildModel(model, exchange, factsPriceDay(model.id, metadata))),
    metadata:
      metadata === null || metadata.models.length === 0
        ? null
        : { asOf: metadata.asOf, source: metadata.source },
    datasets: {
      syncKey: file.datasets.sync_key ?? null,
      samples: file.datasets.samples,
      baseUrl: file.datasets.base_url.replace(/(?<!\/)\/+$/, ''),
    },
    tracing:
      file.tracing === undefined
        ? null
        : {
            otlpUrl: file.tracing.otlp_url,
            headers: file.tracing.headers,
            samplePercent: file.tracing.sample_percent,
          },
    backup: file.backup === undefined ? null : buildBackup(file.backup, outside),
  };
}

function buildBackup(backup: ParsedBackup, { path }: Outside): BackupConfig {
  const { keep, encryption_key: encryptionKey = null, max_age_hours: maxAgeHours } = backup;
  const schedule = backup.schedule === undefined ? null : buildSchedule(backup.schedule);
  return {
    schedule,
    place: placeOf(backup, path),
    drill: backup.drill === undefined ? null : buildSchedule(backup.drill.schedule),
    keep: { count: keep.count, ageDays: keep.age_days ?? null },
    encryptionKey,
    maxAgeHours: schedule === null ? null : (maxAgeHours ?? schedule.everyHours + 2),
  };
}

function placeOf({ directory, s3 }: ParsedBackup, configPath: string): BackupConfig['place'] {
  if (directory !== undefined)
    return { kind: 'folder', directory: resolve(relativeToConfig(directory, configPath)) };
  if (s3 === undefined) return null;
  return {
    kind: 's3',
    endpoint: s3.endpoint,
    region: s3.region,
    bucket: s3.bucket,
    prefix: s3.prefix,
    accessKeyId: s3.access_key_id,
    secretAccessKey: s3.secret_access_key,
    pathStyle: s3.path_style,
  };
}

function buildSchedule({ every_hours: everyHours, at }: { every_hours: number; at: string }): ScheduleConfig {
  const [hour, minute] = at.split(':').map(Number);
  return { everyHours, atMinute: (hour ?? 0) * 60 + (minute ?? 0) };
}

function addressOf(address: Address): Address {
  return { host: address.host, port: address.port };
}

function buildAuth({
  public_url: publicUrl,
  support_credit_limit_krw,
  oidc,
}: ParsedFile['auth']): Config['auth'] {
  return {
    publicUrl: publicUrl === undefined ? null : new URL(publicUrl).origin,
    supportCreditLimit: support_credit_limit_krw,
    oidc:
      oidc === undefined
        ? null
        : {
            name: oidc.name ?? new URL(oidc.issuer).host,
            issuer: oidc.issuer,
            clientId: oidc.client_id,
            clientSecret: oidc.client_secret,
            allowedDomains: oidc.allowed_domains,
            createAccounts: oidc.create_accounts,
          },
  };
}

function buildLimits(limits: ParsedFile['limits']): Config['limits'] {
  return {
    debtFloorKrw: limits.debt_floor_krw,
    upstreamTimeoutMs: limits.upstream_timeout_ms,
    connectTimeoutMs: limits.connect_timeout_ms,
    firstByteTimeoutMs: limits.first_byte_timeout_ms ?? null,
    fallbackStreamMs: limits.fallback_stream_ms,
    fallbackWholeMs: limits.fallback_whole_ms,
    streamIdleTimeoutMs: limits.stream_idle_timeout_ms,
    totalTimeoutMs: limits.total_timeout_ms ?? null,
    drainTimeoutMs: limits.drain_timeout_ms,
    crashDrainTimeoutMs: limits.crash_drain_timeout_ms,
    coldWaitMs: limits.cold_wait_ms,
    keepAliveCommentMs: limits.keep_alive_comment_ms,
    bodyBytes: limits.body_bytes,
    memoryBytes: limits.memory_bytes ?? null,
    clientMemoryPercent: limits.client_memory_percent,
    minBodyBytesPerSecond: limits.min_body_bytes_per_second,
    connectionsPerClient: limits.connections_per_client,
    requestsPerSecond: limits.requests_per_second,
    burst: limits.burst,
  };
}

/**
 * The day of the public facts that the model's price comes from; null when the file states the
 * price.
 */
function factsPriceDay(id: string, metadata: AppliedMetadata | null): string | null {
  const priced = metadata?.models.find((one) => one.id === id && one.members.includes('price'));
  return metadata === null || priced === undefined ? null : metadata.pricesAsOf;
}

function buildRouting(routing: ParsedFile['routing']): Config['routing'] {
  return {
    circuitFailures: routing.circuit_failures,
    circuitOpenMs: routing.circuit_open_ms,
    maxCircuitOpenMs: Math.max(routing.circuit_open_ms, routing.longest_circuit_open_ms),
    coolDownMs: routing.cool_down_ms,
    maxCoolDownMs: Math.max(routing.cool_down_ms, routing.longest_cool_down_ms),
  };
}

function buildModel(
  row: ParsedModel,
  exchange: ExchangeConfig | null,
  factsAsOf: string | null,
): ModelConfig {
  if (row.context_length === undefined) throw new Error(`${row.id} has no context length`);
  const model = { ...row, context_length: row.context_length };
  const own = model.price === undefined ? null : buildPrice(model.price, exchange, factsAsOf);
  const candidates = candidatesOf(model).map((candidate) => buildCandidate(candidate, model, own, exchange));
  return {
    id: model.id,
    name: model.name ?? model.id,
    description: model.description,
    createdMs: model.created === undefined ? null : instantOf(model.created),
    contextLength: model.context_length,
    maxCompletionTokens: model.max_completion_tokens ?? null,
    inputModalities: model.input_modalities,
    outputModalities: model.output_modalities,
    supportedParameters: model.supported_parameters ?? null,
    defaultParameters: model.default_parameters === undefined ? null : statedOf(model.default_parameters),
    huggingFaceId: model.hugging_face_id ?? null,
    knowledgeCutoff: model.knowledge_cutoff ?? null,
    tokenizer: model.tokenizer ?? null,
    candidates,
  };
}

/** The candidates of a row; a row with its own `provider` or `slot` has that one candidate. */
function candidatesOf({ id, candidates, provider, slot, model }: ParsedModel): readonly ParsedCandidate[] {
  if (candidates !== undefined) return candidates;
  const [author, ...rest] = id.split('/');
  const name = model ?? (provider === author ? rest.join('/') : id);
  return [{ slot, provider, model: provider === undefined ? undefined : name, parameters: {} }];
}

function buildCandidate(
  candidate: ParsedCandidate,
  model: ParsedModel & { readonly context_length: number },
  modelPrice: BuiltPrice | null,
  exchange: ExchangeConfig | null,
): CandidateConfig {
  const built = candidate.price === undefined ? modelPrice : buildPrice(candidate.price, exchange, null);
  if (built === null) throw new Error(`a candidate of ${model.id} has no price`);
  const contextLength = candidate.context_length ?? model.context_length;
  const max = candidate.max_completion_tokens ?? model.max_completion_tokens ?? null;
  const isSlot = candidate.slot !== undefined;
  const zdr = candidate.zdr ?? (isSlot && candidate.data_collection !== true);
  return {
    target: targetOf(candidate, model),
    contextLength,
    // The inherited value may exceed a smaller context.
    maxCompletionTokens: max === null ? null : Math.min(max, contextLength),
    inputModalities: candidate.input_modalities ?? model.input_modalities,
    supportedParameters: candidate.supported_parameters ?? model.supported_parameters ?? null,
    parameters: candidate.parameters,
    quantization: candidate.quantization ?? null,
    ...built,
    weight: candidate.weight ?? null,
    dataCollection: candidate.data_collection ?? !(isSlot || zdr),
    zdr,
    distillable: candidate.distillable ?? false,
  };
}

function targetOf(candidate: ParsedCandidate, model: ParsedModel): CandidateConfig['target'] {
  if (candidate.slot !== undefined) return { kind: 'slot', slot: candidate.slot };
  if (candidate.provider === undefined)
    throw new Error(`a candidate of ${model.id} has neither a slot nor a provider`);
  return { kind: 'provider', provider: candidate.provider, model: candidate.model ?? model.id };
}

function statedOf(values: { readonly [name: string]: number | undefined }): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, number] => entry[1] !== undefined),
  );
}
