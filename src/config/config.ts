import { resolve } from 'node:path';
import type { z } from 'zod';
import { freezeDeep } from './freeze.ts';
import { type Outside, relativeToConfig } from './interpolate.ts';
import type { AppliedMetadata } from './model-metadata/apply-metadata.ts';
import { isInRange, proxiesOf } from './proxies.ts';
import type { rootSchema } from './schema.ts';
import { modelOf } from './schema-models.ts';
import { slotOf } from './schema-slots.ts';
import { Secret } from './secret.ts';

/**
 * The configuration of a valid file: the output of its schema, with what a section takes from
 * others and from outside.
 */
export function buildConfig(
  { facts, ...file }: z.output<typeof rootSchema>,
  outside: Outside,
  metadata: AppliedMetadata | null,
) {
  const { limits, exchange, backup } = file;
  return freezeDeep({
    ...file,
    exchange: exchange && { usdKrw: exchange.usdKrw, marginPercent: exchange.marginPercent },
    providers: file.providers.map((provider) => ({
      ...provider,
      connectTimeoutMs: provider.connectTimeoutMs ?? limits.connectTimeoutMs,
      firstByteTimeoutMs: provider.firstByteTimeoutMs ?? limits.firstByteTimeoutMs,
      proxy: proxyFor(provider, outside.env),
    })),
    slots: file.slots.map((slot) => slotOf(slot, outside)),
    models: file.models.map((model) => modelOf(model, exchange, factsPriceDay(model.id, metadata))),
    backup: backup && {
      ...backup,
      directory: backup.directory && resolve(relativeToConfig(backup.directory, outside.path)),
    },
    /** The public metadata that rows of models take from; null when none does. */
    metadata:
      metadata === null || metadata.models.length === 0
        ? null
        : { asOf: metadata.asOf, source: metadata.source },
  });
}

/** The proxy of a provider, its own or that of the environment, and the hosts that it is not for. */
function proxyFor(
  { baseUrl, proxy }: { readonly baseUrl: string; readonly proxy: Secret | null },
  env: Outside['env'],
): { readonly url: Secret; readonly noProxy: string } | null {
  if (proxy !== null) return { url: proxy, noProxy: '' };
  const proxies = proxiesOf(env);
  const url = baseUrl.startsWith('https:') ? proxies?.HTTPS_PROXY : proxies?.HTTP_PROXY;
  if (proxies === null || url === undefined || isInRange(new URL(baseUrl).hostname, proxies)) return null;
  return { url: new Secret(url), noProxy: proxies.NO_PROXY };
}

/**
 * The day of the public facts that the model's price comes from; null when the file states the
 * price.
 */
function factsPriceDay(id: string, metadata: AppliedMetadata | null): string | null {
  const priced = metadata?.models.find((one) => one.id === id && one.members.includes('price'));
  return metadata === null || priced === undefined ? null : metadata.pricesAsOf;
}

/**
 * What `naru.yaml` means, with every default filled in and every reference checked
 * (spec:operator/2.1). The schema describes its members.
 */
export type Config = ReturnType<typeof buildConfig>;

/* Its sections. */

export type Address = Config['listen'];
export type LimitsConfig = Config['limits'];
export type RoutingConfig = Config['routing'];
export type OidcConfig = NonNullable<Config['auth']['oidc']>;
export type TracingConfig = NonNullable<Config['tracing']>;
export type ExchangeConfig = NonNullable<Config['exchange']>;
export type BackupConfig = NonNullable<Config['backup']>;
export type ScheduleConfig = NonNullable<BackupConfig['schedule']>;
export type S3Config = NonNullable<BackupConfig['s3']>;
export type ProviderConfig = Config['providers'][number];
export type SlotSettings = Config['slots'][number];
export type SlotDriver = SlotSettings['driver'];
export type KubeTarget = (SlotDriver & { readonly kind: 'k8s-scale' })['k8s'];
export type ModelConfig = Config['models'][number];
export type CandidateConfig = ModelConfig['candidates'][number];
export type Modality = ModelConfig['inputModalities'][number];
