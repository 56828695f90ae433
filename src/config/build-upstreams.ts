import type { LimitsConfig, ProviderConfig } from './config.ts';
import { type Outside, relativeToConfig } from './interpolate.ts';
import type { ParsedFile } from './schema.ts';
import type { SlotSettings } from './slot.ts';

/**
 * The variables that an engine inherits: enough to find programs, libraries and caches, and no
 * credentials.
 */
export const inheritedVariables: readonly string[] = [
  ...['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH'],
  ...['CUDA_HOME', 'HF_HOME', 'XDG_CACHE_HOME'],
];

/** An upstream, with the defaults from `limits` filled in. */
export function buildProvider(
  provider: ParsedFile['providers'][number],
  limits: LimitsConfig,
): ProviderConfig {
  const headers = Object.entries(provider.headers).map(
    ([name, value]) => [name.toLowerCase(), value] as const,
  );
  return {
    slug: provider.slug,
    name: provider.name ?? provider.slug,
    dialect: provider.dialect,
    variant: provider.variant ?? null,
    parameters: provider.parameters,
    baseUrl: withoutSlash(provider.base_url),
    apiKey: provider.api_key ?? null,
    aws: buildAws(provider),
    headers: Object.fromEntries(headers),
    connectTimeoutMs: provider.connect_timeout_ms ?? limits.connectTimeoutMs,
    firstByteTimeoutMs: provider.first_byte_timeout_ms ?? limits.firstByteTimeoutMs,
    maxConnections: provider.max_connections ?? null,
    privacyPolicyUrl: provider.privacy_policy_url ?? null,
    termsOfServiceUrl: provider.terms_of_service_url ?? null,
    statusPageUrl: provider.status_page_url ?? null,
  };
}

function buildAws(provider: ParsedFile['providers'][number]): ProviderConfig['aws'] {
  if (provider.region === undefined) return null;
  return {
    region: provider.region,
    accessKeyId: provider.access_key_id ?? null,
    secretAccessKey: provider.secret_access_key ?? null,
    sessionToken: provider.session_token ?? null,
  };
}

/** A local engine, with its environment and its working folder. */
export function buildSlot(slot: ParsedFile['slots'][number], outside: Outside): SlotSettings {
  return {
    name: slot.name,
    driver: driverOf(slot, outside),
    variant: slot.variant ?? null,
    basePath: withoutSlash(slot.base_path),
    model: slot.model ?? null,
    apiKey: slot.api_key ?? null,
    readyPath: slot.ready_path,
    startBudgetMs: slot.start_budget_ms,
    idleStopMs: slot.idle_stop_ms,
    maxConcurrency: slot.max_concurrency,
    gpus: slot.gpus,
    vramMb: slot.vram_mb,
    replicas: slot.replicas,
    minResidentMs: slot.min_resident_ms,
    stallMs: slot.stall_ms,
    warmUpMs: slot.warm_up_ms,
    sleep:
      slot.sleep === undefined
        ? null
        : {
            sleepPath: slot.sleep.sleep_path,
            wakePath: slot.sleep.wake_path,
            vramMb: slot.sleep.vram_mb,
          },
  };
}

function driverOf(slot: ParsedFile['slots'][number], outside: Outside): SlotSettings['driver'] {
  if (slot.external !== undefined) {
    const { base_url, health_path } = slot.external;
    return { kind: 'external', baseUrl: withoutSlash(base_url), healthPath: health_path };
  }
  if (slot.k8s !== undefined) return scaledDriverOf(slot.k8s, outside);
  if (slot.command === undefined) throw new Error(`the slot ${slot.name} has no command`);
  const env = { ...inherited(outside.env), ...visibleGpus(slot.gpus), ...slot.env };
  return {
    kind: 'process',
    command: slot.command,
    env,
    cwd: relativeToConfig(slot.cwd ?? '.', outside.path),
  };
}

/**
 * Where every pod finds the credential of its service account, and the certificates of its cluster.
 */
const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The credential of the service account goes only to the cluster's own API server. */
function scaledDriverOf(
  k8s: NonNullable<ParsedFile['slots'][number]['k8s']>,
  outside: Outside,
): SlotSettings['driver'] {
  const { namespace, deployment, replicas, manage, api_url, token_file, ca } = k8s;
  const isOwn = api_url === undefined;
  const token = k8s.token ?? null;
  const ownToken = isOwn && token === null ? `${accountFolder}/token` : null;
  return {
    kind: 'k8s-scale',
    baseUrl: withoutSlash(k8s.service_url),
    healthPath: k8s.health_path,
    k8s: {
      apiUrl: withoutSlash(api_url ?? clusterUrl(outside.env)),
      namespace,
      deployment,
      replicas,
      manage,
      token,
      tokenFile: token_file === undefined ? ownToken : relativeToConfig(token_file, outside.path),
      ca: ca ?? null,
      caFile: isOwn && ca === undefined ? `${accountFolder}/ca.crt` : null,
    },
  };
}

/** The API server from the pod's environment, or the name that every cluster has. */
function clusterUrl(env: Outside['env']): string {
  const host = env['KUBERNETES_SERVICE_HOST'];
  const port = env['KUBERNETES_SERVICE_PORT'] ?? '443';
  if (host === undefined || host === '') return 'https://kubernetes.default.svc';
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function inherited(env: Outside['env']): Record<string, string> {
  const ours: Record<string, string> = {};
  for (const name of inheritedVariables) {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value !== undefined) ours[name] = value;
  }
  return ours;
}

function visibleGpus(gpus: readonly string[]): Record<string, string> {
  return gpus.length === 0 ? {} : { CUDA_VISIBLE_DEVICES: gpus.join(',') };
}

function withoutSlash(url: string): string {
  return url.replace(/(?<!\/)\/+$/, '');
}
