import { z } from 'zod';
import { checked, choice, flag, integer, list, object, secret, shaped, text, withDefault } from './fields.ts';
import { httpUrl, kubeUrl, pageUrl, urlPath } from './validators.ts';
import { engineVariants, providerVariants } from './variants.ts';

const dayMs = 86_400_000;

/** A header that the connection itself writes cannot be set beside it. */
const headerName = z
  .string()
  .regex(
    /^(?!(?:[Hh]ost|[Cc]ontent-[Ll]ength|[Tt]ransfer-[Ee]ncoding|[Cc]onnection)$)[A-Za-z0-9!#$%&'*+.^_`|~-]+$/,
    'is no header that can be set',
  );
const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'is no name of an environment variable');

/** Parameters by what becomes of them, whatever the upstream is known to take. */
export const parameterOverrides = z
  .record(
    shaped('A parameter.', /^[a-z][a-z0-9_]{0,63}$/, 'must be a name such as top_p'),
    shaped('A name.', /^[a-z][a-z0-9_]{0,63}$/, 'must be a name such as top_p, drop or keep'),
  )
  .meta({
    description:
      'What becomes of single parameters, whatever is known of the API: the name to send one under, `drop` or `keep`.',
  })
  .prefault({});

/** One upstream. */
export const provider = object('An upstream.', {
  slug: shaped(
    'The name that candidates and requests choose it by.',
    /^[a-z0-9][a-z0-9._-]{0,62}(?:\/[a-z0-9][a-z0-9._-]{0,62})?$/,
    'must be small letters, digits, dots, dashes and underscores, with one slash at most',
  ),
  name: text('The name that people read; without it the slug.').optional(),
  dialect: choice('The language it speaks.', ['openai', 'anthropic', 'google', 'bedrock']),
  variant: choice(
    'For `openai`: which of the APIs that speak it; without it what the host of `base_url` tells. See providers.md.',
    providerVariants,
  ).optional(),
  parameters: parameterOverrides,
  base_url: checked('The root of its API, such as https://api.openai.com/v1.', httpUrl),
  api_key: secret('Its credential; without it requests carry none.').optional(),
  region: shaped(
    'For `bedrock`: the region of AWS that requests are signed for.',
    /^[a-z]{2,}(?:-[a-z]+)+-\d{1,2}$/,
    'must be a region such as us-east-1',
  ).optional(),
  access_key_id: secret('For `bedrock`, instead of `api_key`: signs requests, with the next.').optional(),
  secret_access_key: secret('For `bedrock`: belongs to `access_key_id`.').optional(),
  session_token: secret('For `bedrock`: belongs to a temporary `access_key_id`.').optional(),
  headers: z
    .record(headerName, secret('A value.'))
    .meta({ description: 'Further headers of every request. Their values are treated as secrets.' })
    .prefault({}),
  connect_timeout_ms: integer('Instead of `limits.connect_timeout_ms`.', 1, dayMs).optional(),
  first_byte_timeout_ms: integer('Instead of `limits.first_byte_timeout_ms`.', 1, dayMs).optional(),
  max_connections: integer('Sockets at once; without it there is no limit.', 1, 100_000).optional(),
  privacy_policy_url: checked('Shown by `GET /providers`.', pageUrl).optional(),
  terms_of_service_url: checked('Shown by `GET /providers`.', pageUrl).optional(),
  status_page_url: checked('Shown by `GET /providers`.', pageUrl).optional(),
});

function gpuId(description: string) {
  return shaped(description, /^[\w.:-]{1,80}$/, 'must be the number or the name of a GPU');
}

const external = object('A server that somebody else runs; Naru only looks at its health.', {
  base_url: checked('The root of the server; `base_path` and `health_path` are appended to it.', httpUrl),
  health_path: withDefault(checked('Answers 200 while the server can serve.', urlPath), '/health'),
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
    health_path: withDefault(checked('Answers 200 while the engine can serve.', urlPath), '/health'),
    replicas: withDefault(
      integer('The pods of a start. More of them, when somebody else wants them, are left alone.', 1, 10_000),
      '1',
    ),
    manage: withDefault(
      flag(
        'Whether Naru scales it. With false something else does, such as KEDA by `slot_demand`, and Naru only looks at its health.',
      ),
      'true',
    ),
    api_url: checked(
      'The root of the API server; without it that of the cluster in which Naru runs. https, or a proxy on the loopback.',
      kubeUrl,
    ).optional(),
    token: secret('The credential for `api_url`, read once, such as `file:PATH`.').optional(),
    token_file: text(
      'A file with the credential, read again for each call; without it and without `api_url` that of the service account.',
    ).optional(),
    ca: text(
      'The certificates (PEM) by which the API server is known, such as `file:PATH`; without it those of the service account, or with `api_url` those of the machine.',
    ).optional(),
  },
);
const sleep = object('How an engine that can sleep is put to sleep instead of being stopped.', {
  sleep_path: withDefault(
    checked('A POST to it, from the root of the server, makes it free its memory.', urlPath),
    '/sleep?level=1',
  ),
  wake_path: withDefault(checked('A POST to it wakes the engine.', urlPath), '/wake_up'),
  vram_mb: withDefault(
    integer('What it keeps of the memory of each of its GPUs meanwhile, in MiB.', 0, 100_000_000),
    '0',
  ),
});

/** What the slots may use of one GPU. */
export const gpu = object('A GPU that slots share. One that is not listed has no limit.', {
  id: gpuId('The GPU, as `gpus` of the slots name it.'),
  vram_mb: integer('The memory that the slots may use together, in MiB.', 1, 100_000_000),
});

/** One local engine. */
export const slot = object('A local engine. It has one of `command`, `external` and `k8s`.', {
  name: shaped(
    'The name that candidates and `naru slot` choose it by.',
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
    'must be letters, digits, dots, dashes and underscores, and begin with a letter or digit',
  ),
  command: list(
    'The program and its arguments. `{port}` in them becomes the port that Naru chose for the start.',
    text('A word of the command.'),
    1,
  ).optional(),
  env: z
    .record(variableName, shaped('A value.', /^[^\0]*$/su, 'must be text'))
    .meta({
      description:
        'Environment of the engine, beside PATH, HOME and a few more; `{port}` becomes the port. Values are not treated as secrets.',
    })
    .prefault({}),
  cwd: text(
    "The folder the command runs in, from the configuration file's own; without it that one.",
  ).optional(),
  driver: choice('How Naru comes by it; without it what `command`, `external` or `k8s` means.', [
    'process',
    'external',
    'k8s-scale',
  ]).optional(),
  external: external.optional(),
  k8s: k8s.optional(),
  variant: choice('Which engine it is, for what it takes; see providers.md.', engineVariants).optional(),
  base_path: withDefault(checked('Where its OpenAI API begins.', urlPath), '/v1'),
  model: text(
    'The name by which the engine knows its model; without it the engine is not told one.',
  ).optional(),
  ready_path: withDefault(checked('Answers 200 once a started engine can serve.', urlPath), '/health'),
  start_budget_ms: withDefault(integer('A start that is not ready by then has failed.', 1, dayMs), '120000'),
  idle_stop_ms: withDefault(
    integer('Stopped after this long without a request; 0: never.', 0, 30 * dayMs),
    '900000',
  ),
  max_concurrency: withDefault(
    integer('Requests it works on at once; others queue, without error.', 1, 10_000),
    '4',
  ),
  gpus: list(
    'The GPUs it runs on, as the driver numbers or names them. Put into CUDA_VISIBLE_DEVICES unless `env` has one.',
    gpuId('A GPU.'),
  ).prefault([]),
  vram_mb: withDefault(
    integer('What it takes of the memory of each of its GPUs, in MiB; 0: unknown.', 0, 100_000_000),
    '0',
  ),
  replicas: withDefault(
    integer('Engines at most, started as they are needed. The GPUs are dealt out evenly among them.', 1, 64),
    '1',
  ),
  min_resident_ms: withDefault(
    integer('A ready engine is left this long before another slot may have its memory.', 0, dayMs),
    '30000',
  ),
  stall_ms: withDefault(
    integer('A ready engine that gave no sign of life for this long is asked for one; 0: never.', 0, dayMs),
    '60000',
  ),
  warm_up_ms: withDefault(
    integer('The longest first request, which Naru makes before clients come; 0: none.', 0, dayMs),
    '0',
  ),
  sleep: sleep.optional(),
});
