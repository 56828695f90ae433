import { z } from 'zod';
import { checked, choice, flag, integer, list, object, secret, shaped, text, withDefault } from './fields.ts';
import { encryptedUrl, httpUrl, pageUrl, urlPath } from './validators.ts';
import { engineVariants, providerVariants } from './variants.ts';

const dayMs = 86_400_000;

/** A header that the connection itself writes cannot be set. */
const headerName = z
  .string()
  .regex(
    /^(?!(?:[Hh]ost|[Cc]ontent-[Ll]ength|[Tt]ransfer-[Ee]ncoding|[Cc]onnection)$)[A-Za-z0-9!#$%&'*+.^_`|~-]+$/,
    'is not a header that can be set',
  );
const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is not a valid name of an environment variable');

/** Overrides of parameters, whatever the upstream accepts. */
export const parameterOverrides = z
  .record(
    shaped('A parameter.', /^[a-z][a-z0-9_]{0,63}$/, 'must be a name such as top_p'),
    shaped('A name.', /^[a-z][a-z0-9_]{0,63}$/, 'must be a name such as top_p, drop or keep'),
  )
  .meta({
    description: 'Overrides of single parameters, whatever the API accepts: another name, `drop` or `keep`.',
  })
  .prefault({});

/** Headers by their names. */
export function secretHeaders(description: string) {
  return z.record(headerName, secret('A value.')).meta({ description }).prefault({});
}

/** One upstream. */
export const provider = object('An upstream.', {
  slug: shaped(
    'The name by which candidates and requests refer to it.',
    /^[a-z0-9][a-z0-9._-]{0,62}(?:\/[a-z0-9][a-z0-9._-]{0,62})?$/,
    'must be lower-case letters, digits, dots, dashes and underscores, with one slash at most',
  ),
  name: text('The display name; by default the slug.').optional(),
  dialect: choice('The format of its API.', ['openai', 'anthropic', 'google', 'bedrock']),
  variant: choice(
    'For `openai`: the API; by default determined by the host of `base_url`. See providers.md.',
    providerVariants,
  ).optional(),
  parameters: parameterOverrides,
  base_url: checked('The root of its API, such as https://api.openai.com/v1.', httpUrl),
  api_key: secret('Its credential; by default requests have none.').optional(),
  region: shaped(
    'For `bedrock`: the AWS region that requests are signed for.',
    /^[a-z]{2,}(?:-[a-z]+)+-\d{1,2}$/,
    'must be a region such as us-east-1',
  ).optional(),
  access_key_id: secret(
    'For `bedrock`, instead of `api_key`: signs requests, together with `secret_access_key`.',
  ).optional(),
  secret_access_key: secret('For `bedrock`: belongs to `access_key_id`.').optional(),
  session_token: secret('For `bedrock`: belongs to a temporary `access_key_id`.').optional(),
  headers: secretHeaders('Additional headers of every request. Their values are treated as secrets.'),
  connect_timeout_ms: integer('Instead of `limits.connect_timeout_ms`.', 1, dayMs).optional(),
  first_byte_timeout_ms: integer('Instead of `limits.first_byte_timeout_ms`.', 1, dayMs).optional(),
  max_connections: integer('Maximum connections; unlimited by default.', 1, 100_000).optional(),
  privacy_policy_url: checked('Shown by `GET /providers`.', pageUrl).optional(),
  terms_of_service_url: checked('Shown by `GET /providers`.', pageUrl).optional(),
  status_page_url: checked('Shown by `GET /providers`.', pageUrl).optional(),
});

function gpuId(description: string) {
  return shaped(description, /^[\w.:-]{1,80}$/, 'must be the number or the name of a GPU');
}

const external = object('A server that Naru does not start or stop; it only checks its health.', {
  base_url: checked('The root of the server; `base_path` and `health_path` are appended to it.', httpUrl),
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
      httpUrl,
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
    api_url: checked(
      'The root of the API server; by default that of the cluster in which Naru runs. https, or a proxy on a loopback address.',
      encryptedUrl,
    ).optional(),
    token: secret('The credential for `api_url`, read once, such as `file:PATH`.').optional(),
    token_file: text(
      'A file with the credential, read for each call; by default, without `api_url`, that of the service account.',
    ).optional(),
    ca: text(
      'The certificates (PEM) to trust for the API server, such as `file:PATH`; by default those of the service account, or with `api_url` those of the operating system.',
    ).optional(),
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
  command: list(
    'The program and its arguments. `{port}` is replaced by the port that Naru chose for the start.',
    text('A word of the command.'),
    1,
  ).optional(),
  env: z
    .record(variableName, shaped('A value.', /^[^\0]*$/su, 'must be text'))
    .meta({
      description:
        'Environment of the engine, in addition to PATH, HOME and a few more; `{port}` is replaced by the port. Values are not treated as secrets.',
    })
    .prefault({}),
  cwd: text(
    "The folder the command runs in, relative to the configuration file's folder; by default that folder.",
  ).optional(),
  driver: choice('How Naru gets the engine; by default determined by `command`, `external` or `k8s`.', [
    'process',
    'external',
    'k8s-scale',
  ]).optional(),
  external: external.optional(),
  k8s: k8s.optional(),
  variant: choice(
    'The kind of engine, which determines the parameters that it accepts; see providers.md.',
    engineVariants,
  ).optional(),
  base_path: withDefault(checked('The path of its OpenAI API.', urlPath), '/v1'),
  model: text("The engine's name for its model; by default none is sent.").optional(),
  api_key: secret('The credential that the engine asks for; sent with calls and health checks.').optional(),
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
  sleep: sleep.optional(),
});
