import { z } from 'zod';
import {
  checked,
  choice,
  flag,
  integer,
  list,
  object,
  optional,
  secret,
  shaped,
  text,
  withDefault,
} from './fields.ts';
import { type Outside, relativeToConfig } from './interpolate.ts';
import { apiRoot, encryptedUrl, urlPath, withoutSlash } from './validators.ts';
import { engineVariants } from './variants.ts';

const dayMs = 86_400_000;

const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not a valid name of an environment variable');

function gpuId(description: string) {
  return shaped(description, /^[\w.:-]{1,80}$/, 'must be the number or the name of a GPU');
}

const external = object('A server that Naru does not start or stop; it only checks its health.', {
  base_url: checked(
    'The root of the server; `base_path` and `health_path` are appended to it.',
    apiRoot,
    withoutSlash,
  ),
  health_path: withDefault(checked('Returns 200 while the server is ready.', urlPath), '/health'),
});

const dnsLabel = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';

const k8s = object(
  'An engine in a Kubernetes Deployment, which Naru scales up for a start and to zero for a stop.',
  {
    namespace: shaped(
      'The namespace of the Deployment.',
      new RegExp(`^${dnsLabel}$`),
      'must be the name of a namespace',
    ),
    deployment: shaped(
      'The name of the Deployment.',
      new RegExp(`^(?=.{1,253}$)${dnsLabel}(?:\\.${dnsLabel})*$`),
      'must be the name of a Deployment',
    ),
    service_url: checked(
      'The root of the Service in front of its pods; `base_path` and `health_path` are appended to it.',
      apiRoot,
      withoutSlash,
    ),
    health_path: withDefault(checked('Returns 200 while the engine is ready.', urlPath), '/health'),
    replicas: withDefault(
      integer('The number of pods to start. A larger count that something else sets is kept.', 1, 10_000),
      '1',
    ),
    manage: withDefault(
      flag(
        'Whether Naru scales it. With false something else does, such as KEDA by `naru_slot_demand`, and Naru only checks its health.',
      ),
      'true',
    ),
    api_url: optional(
      checked(
        'The root of the API server; by default that of the cluster in which Naru runs. https, or a proxy on a loopback address.',
        encryptedUrl,
        withoutSlash,
      ),
    ),
    token: optional(secret('The credential for `api_url`, read once, such as `file:PATH`.')),
    token_file: optional(
      text(
        'A file with the credential, read for each call; by default, without `api_url`, that of the service account.',
      ),
    ),
    ca: optional(
      text(
        'The certificates (PEM) to trust for the API server, such as `file:PATH`; by default those of the service account, or with `api_url` those of the operating system.',
      ),
    ),
  },
);
const sleep = object('How to put an engine to sleep instead of stopping it.', {
  sleep_path: withDefault(
    checked('A POST to this path of the server makes the engine free its memory.', urlPath),
    '/sleep?level=1',
  ),
  wake_path: withDefault(checked('A POST to this path wakes the engine.', urlPath), '/wake_up'),
  vram_mb: withDefault(
    integer('The memory that it keeps on each of its GPUs during sleep, in MiB.', 0, 100_000_000),
    '0',
  ),
});

/** The memory of one GPU that the slots may use. */
export const gpu = object('A GPU that slots share. An unlisted GPU has no limit.', {
  id: gpuId('The GPU, as named in `gpus` of the slots.'),
  vram_mb: integer('The memory that the slots may use together, in MiB.', 1, 100_000_000),
});

/** One local engine. */
export const slot = object('A local engine. It has one of `command`, `external` and `k8s`.', {
  name: shaped(
    'The name by which candidates and `naru slot` refer to it.',
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
    'must be letters, digits, dots, dashes and underscores, and begin with a letter or digit',
  ),
  command: optional(
    list(
      'The program and its arguments. `{port}` is replaced by the port that Naru chose for the start.',
      text('A word of the command.'),
      1,
    ),
  ),
  env: z
    .record(variableName, shaped('A value.', /^[^\0]*$/su, 'must be text'))
    .meta({
      description:
        'Environment of the engine, in addition to PATH, HOME and a few more; `{port}` is replaced by the port. Values are not treated as secrets.',
    })
    .prefault({}),
  cwd: optional(
    text(
      "The folder the command runs in, relative to the configuration file's folder; by default that folder.",
    ),
  ),
  driver: optional(
    choice('How Naru gets the engine; by default determined by `command`, `external` or `k8s`.', [
      'process',
      'external',
      'k8s-scale',
    ]),
  ),
  external: optional(external),
  k8s: optional(k8s),
  variant: optional(
    choice(
      'The kind of engine, which determines the parameters that it accepts; see providers.md.',
      engineVariants,
    ),
  ),
  base_path: withDefault(checked('The path of its OpenAI API.', urlPath, withoutSlash), '/v1'),
  model: optional(text("The engine's name for its model; by default none is sent.")),
  api_key: optional(secret('The credential that the engine requires; sent with calls and health checks.')),
  ready_path: withDefault(checked('Returns 200 once a started engine is ready.', urlPath), '/health'),
  start_budget_ms: withDefault(
    integer('A start that is not ready after this time has failed.', 1, dayMs),
    '120000',
  ),
  idle_stop_ms: withDefault(
    integer('The engine is stopped after this time without a request; 0: never.', 0, 30 * dayMs),
    '900000',
  ),
  max_concurrency: withDefault(
    integer('Requests that it processes at once; others queue, without error.', 1, 10_000),
    '4',
  ),
  gpus: list(
    'The GPUs it runs on, by number or name in the driver. Set as CUDA_VISIBLE_DEVICES unless `env` sets it.',
    gpuId('A GPU.'),
  ).prefault([]),
  vram_mb: withDefault(
    integer('The memory it uses on each of its GPUs, in MiB; 0: unknown.', 0, 100_000_000),
    '0',
  ),
  replicas: withDefault(
    integer('Maximum number of engines, started as needed. The GPUs are divided evenly among them.', 1, 64),
    '1',
  ),
  min_resident_ms: withDefault(
    integer('A ready engine keeps its memory for at least this time when another slot needs it.', 0, dayMs),
    '30000',
  ),
  stall_ms: withDefault(
    integer('A ready engine without activity for this time is probed; 0: never.', 0, dayMs),
    '60000',
  ),
  warm_up_ms: withDefault(
    integer(
      'The maximum duration of the warm-up request before the engine serves clients; 0: no warm-up.',
      0,
      dayMs,
    ),
    '0',
  ),
  sleep: optional(sleep),
});

/**
 * The variables that an engine inherits: enough to find programs, libraries and caches, and no
 * credentials.
 */
export const inheritedVariables: readonly string[] = [
  ...['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH'],
  ...['CUDA_HOME', 'HF_HOME', 'XDG_CACHE_HOME'],
];

type ParsedSlot = z.output<typeof slot>;

/** A slot with its driver, in place of the members that it is made of. */
export function slotOf(parsed: ParsedSlot, outside: Outside) {
  const { command, env, cwd, external, k8s, ...settings } = parsed;
  return { ...settings, driver: driverOf(parsed, outside) };
}

/**
 * How Naru gets an engine: it runs one on this machine, someone else runs it and Naru only checks
 * its health, or it is a Deployment that Naru scales.
 */
function driverOf({ command, env, cwd, gpus, external, k8s }: ParsedSlot, outside: Outside) {
  if (external !== null) return { kind: 'external' as const, ...external };
  if (k8s !== null) return scaledDriverOf(k8s, outside);
  return {
    kind: 'process' as const,
    /** Every `{port}` in it, and in the values of `env`, becomes the port of the start. */
    command: command ?? [],
    /** The whole environment of the engine: nothing else is inherited. */
    env: { ...inherited(outside.env), ...visibleGpus(gpus), ...env },
    cwd: relativeToConfig(cwd ?? '.', outside.path),
  };
}

/**
 * Where every pod finds the credential of its service account, and the certificates of its cluster.
 */
const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The credential of the service account goes only to the cluster's own API server. */
function scaledDriverOf(
  { serviceUrl, healthPath, apiUrl, tokenFile, ...target }: z.output<typeof k8s>,
  { path, env }: Outside,
) {
  const isOwn = apiUrl === null;
  const ownToken = isOwn && target.token === null ? `${accountFolder}/token` : null;
  return {
    kind: 'k8s-scale' as const,
    baseUrl: serviceUrl,
    healthPath,
    k8s: {
      ...target,
      apiUrl: apiUrl ?? clusterUrl(env),
      /** The file to read the credential from for each call, where there is no `token`. */
      tokenFile: tokenFile === null ? ownToken : relativeToConfig(tokenFile, path),
      /** The same for the certificates, where there is no `ca`. */
      caFile: isOwn && target.ca === null ? `${accountFolder}/ca.crt` : null,
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
