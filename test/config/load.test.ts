import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultConfig } from '../../src/config/load.ts';
import { configOf, faultsOf } from './load-text.ts';

const smallest = `
slots:
  - { name: s, command: [engine, "{port}"] }
providers:
  - { slug: p, dialect: openai, base_url: "https://p.example/v1/" }
models:
  - id: a/b
    context_length: 1000
    max_completion_tokens: 900
    price: { prompt: 1, completion: 2, per: token, confirm: true }
    candidates:
      - { slot: s }
      - { provider: p, context_length: 100 }
`;

test('an empty file, a file of comments and no file at all mean the same defaults', () => {
  const defaults = {
    listen: { host: '127.0.0.1', port: 8787 },
    admin: { host: '127.0.0.1', port: 8788, publicUrl: null, sessionHours: 24, sessionIdleHours: 12 },
    database: { url: 'embedded' },
    vat: { percent: '10', included: true },
    edge: { rateLimit: 'builtin', trustedProxies: [] },
    keys: { prefix: 'sk-naru-', maxPerAccount: 1_000 },
    log: { level: 'info' },
    limits: {
      debtFloorKrw: 5_000_000_000n,
      upstreamTimeoutMs: 600_000,
      connectTimeoutMs: 10_000,
      firstByteTimeoutMs: null,
      fallbackStreamMs: 30_000,
      fallbackWholeMs: 240_000,
      streamIdleTimeoutMs: 120_000,
      totalTimeoutMs: null,
      drainTimeoutMs: 620_000,
      crashDrainTimeoutMs: 10_000,
      coldWaitMs: 5000,
      keepAliveCommentMs: 15_000,
      bodyBytes: 26_214_400,
      memoryBytes: null,
      clientMemoryPercent: 50,
      minBodyBytesPerSecond: 500,
      connectionsPerClient: 1000,
      requestsPerSecond: 30,
      burst: 60,
    },
    routing: {
      circuitFailures: 5,
      circuitOpenMs: 10_000,
      longestCircuitOpenMs: 300_000,
      coolDownMs: 5_000,
      longestCoolDownMs: 600_000,
    },
    settlement: { ack: 'journal', keepSettledMs: null },
    exchange: null,
    metadata: null,
    company: null,
    topup: null,
    payments: null,
    mail: null,
    webhooks: { privateNetworks: [] },
    liability: { outstandingKrw: 3_000_000_000_000_000n, issuedKrw: 50_000_000_000_000_000n },
    auth: { publicUrl: null, supportCreditLimitKrw: 100_000_000_000n, oidc: null },
    providers: [],
    slots: [],
    gpus: [],
    models: [],
    datasets: { syncKey: null, samples: true, baseUrl: 'https://openrouter.ai/api/v1' },
    tracing: null,
    backup: null,
  };
  assert.deepEqual(defaultConfig(), defaults);
  for (const text of ['', '# nothing\n', '---\n', '{}', 'null', 'listen:\nlimits: ~\nmodels: []\n']) {
    assert.deepEqual(configOf(text), defaults, JSON.stringify(text));
  }
});

test('a slot has every default', () => {
  const slot = configOf(smallest, { env: { PATH: '/bin', OPENAI_API_KEY: 'sk-x' } }).slots[0];
  assert.deepEqual(slot, {
    name: 's',
    driver: { kind: 'process', command: ['engine', '{port}'], env: { PATH: '/bin' }, cwd: '/etc/naru' },
    variant: null,
    basePath: '/v1',
    model: null,
    apiKey: null,
    readyPath: '/health',
    startBudgetMs: 120_000,
    idleStopMs: 900_000,
    maxConcurrency: 4,
    gpus: [],
    vramMb: 0,
    replicas: 1,
    minResidentMs: 30_000,
    stallMs: 60_000,
    warmUpMs: 0,
    sleep: null,
  });
});

test('an external slot has every default', () => {
  const [slot] = configOf(
    'slots: [{ name: e, external: { base_url: "http://127.0.0.1:8000/" }, base_path: / }]',
  ).slots;
  assert.deepEqual(slot?.driver, {
    kind: 'external',
    baseUrl: 'http://127.0.0.1:8000',
    healthPath: '/health',
  });
  assert.equal(slot?.basePath, '');
});

const scaled = (members: string) =>
  `slots: [{ name: k, driver: k8s-scale, k8s: { namespace: gpu, deployment: vllm, service_url: "http://vllm.gpu.svc:8000/"${members} } }]`;

test('a slot of a Deployment takes the cluster settings of its pod', () => {
  const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '6443' };
  const account = '/var/run/secrets/kubernetes.io/serviceaccount';
  const [slot] = configOf(scaled(''), { env }).slots;
  assert.deepEqual(slot?.driver, {
    kind: 'k8s-scale',
    baseUrl: 'http://vllm.gpu.svc:8000',
    healthPath: '/health',
    k8s: {
      apiUrl: 'https://10.0.0.1:6443',
      namespace: 'gpu',
      deployment: 'vllm',
      replicas: 1,
      manage: true,
      token: null,
      tokenFile: `${account}/token`,
      ca: null,
      caFile: `${account}/ca.crt`,
    },
  });
  const apiUrlOf = (proc: Record<string, string>): string | undefined => {
    const driver = configOf(scaled(''), { env: proc }).slots[0]?.driver;
    return driver?.kind === 'k8s-scale' ? driver.k8s.apiUrl : undefined;
  };
  assert.equal(apiUrlOf({ KUBERNETES_SERVICE_HOST: 'fd00::1' }), 'https://[fd00::1]:443');
  assert.equal(apiUrlOf({}), 'https://kubernetes.default.svc');
});

test("the service account's credential is not sent to another API server", () => {
  const k8sOf = (members: string, files = {}) => {
    const driver = configOf(scaled(members), { files }).slots[0]?.driver;
    return driver?.kind === 'k8s-scale' ? driver.k8s : assert.fail();
  };
  const other = k8sOf(', api_url: "https://other.example/"');
  assert.deepEqual(
    [other.apiUrl, other.token, other.tokenFile, other.ca, other.caFile],
    ['https://other.example', null, null, null, null],
  );
  const stated = k8sOf(', api_url: "https://other.example", token: "file:t", ca: "file:c"', {
    '/etc/naru/t': 'sesame\n',
    '/etc/naru/c': 'PEM\n',
  });
  assert.deepEqual(
    [stated.token?.reveal(), stated.tokenFile, stated.ca, stated.caFile],
    ['sesame', null, 'PEM', null],
  );
  assert.equal(k8sOf(', api_url: "https://other.example", token_file: t').tokenFile, '/etc/naru/t');
  assert.equal(k8sOf(', api_url: "http://127.0.0.1:8001"').apiUrl, 'http://127.0.0.1:8001');
});

test('a slot of a Deployment reports its own faults', () => {
  const messages = (text: string) => faultsOf(text).map((fault) => fault.replace(/^\S+ /, ''));
  assert.deepEqual(messages(scaled(', api_url: "http://api.example"')), [
    'slots[0].k8s.api_url: must begin with https://, except for a loopback address',
  ]);
  assert.deepEqual(messages(scaled(', token: a, token_file: b')), [
    'slots[0].k8s: needs only one of token and token_file',
  ]);
  assert.deepEqual(messages(scaled(', manage: false, replicas: 2')), [
    'slots[0].k8s.replicas: has no effect where manage is false',
  ]);
  assert.deepEqual(messages(scaled('').replace('k8s-scale', 'process')), [
    'slots[0].driver: is k8s-scale for a slot with k8s',
  ]);
  assert.deepEqual(messages(scaled('').replace('name: k', 'name: k, gpus: [0]')), [
    'slots[0].gpus: has no effect for a slot with k8s',
  ]);
  assert.deepEqual(messages(scaled('').replace('namespace: gpu', 'namespace: "../x"')), [
    'slots[0].k8s.namespace: must be the name of a namespace, not "../x"',
  ]);
});

test('a provider has every default', () => {
  assert.deepEqual(configOf(smallest).providers[0], {
    slug: 'p',
    name: 'p',
    dialect: 'openai',
    variant: null,
    parameters: {},
    baseUrl: 'https://p.example/v1',
    apiKey: null,
    region: null,
    accessKeyId: null,
    secretAccessKey: null,
    sessionToken: null,
    headers: {},
    connectTimeoutMs: 10_000,
    firstByteTimeoutMs: null,
    ca: null,
    proxy: null,
    maxConnections: null,
    privacyPolicyUrl: null,
    termsOfServiceUrl: null,
    statusPageUrl: null,
  });
});

test('a model has every default, and its candidates inherit its members', () => {
  const [model] = configOf(smallest).models;
  const won = 10n ** 12n;
  const price = { prompt: won, completion: 2n * won, request: 0n, cacheRead: won, cacheWrite: won };
  const stated = {
    ...{ currency: 'KRW', per: 'token', prompt: '1', completion: '2', request: '0' },
    ...{ cacheRead: null, cacheWrite: null, usdKrw: null, marginPercent: null, factsAsOf: null },
  };
  const inherited = {
    inputModalities: ['text'],
    supportedParameters: null,
    parameters: {},
    quantization: null,
    price,
    stated,
    weight: null,
  };
  assert.deepEqual(model, {
    id: 'a/b',
    name: 'a/b',
    description: '',
    createdMs: null,
    contextLength: 1000,
    maxCompletionTokens: 900,
    inputModalities: ['text'],
    outputModalities: ['text'],
    supportedParameters: null,
    defaultParameters: null,
    huggingFaceId: null,
    knowledgeCutoff: null,
    tokenizer: null,
    candidates: [
      {
        ...inherited,
        target: { kind: 'slot', slot: 's' },
        contextLength: 1000,
        maxCompletionTokens: 900,
        dataCollection: false,
        zdr: true,
        distillable: false,
      },
      {
        ...inherited,
        target: { kind: 'provider', provider: 'p', model: 'a/b' },
        contextLength: 100,
        maxCompletionTokens: 100,
        dataCollection: true,
        zdr: false,
        distillable: false,
      },
    ],
  });
});

test('a provider inherits the limits of the file', () => {
  const text = 'limits: { connect_timeout_ms: 7, first_byte_timeout_ms: 90 }\n';
  const provider = 'dialect: openai, base_url: "http://h"';
  const config = configOf(
    `${text}providers: [{slug: a, ${provider}}, {slug: b, ${provider}, first_byte_timeout_ms: 5}]`,
  );
  assert.deepEqual(
    config.providers.map((p) => [p.connectTimeoutMs, p.firstByteTimeoutMs]),
    [
      [7, 90],
      [7, 5],
    ],
  );
});

test('an engine gets few of our variables and no credential, then its GPUs, then the variables of the file', () => {
  const env = { PATH: '/bin', HOME: '/root', OPENAI_API_KEY: 'sk-secret', AWS_SECRET_ACCESS_KEY: 'x' };
  const text =
    'slots: [{ name: s, command: [e], env: { PORT: "{port}", HOME: /h, EMPTY: "" }, gpus: [0, 2], cwd: sub }]';
  const driver = configOf(text, { env }).slots[0]?.driver;
  assert.deepEqual(driver, {
    kind: 'process',
    command: ['e'],
    env: { PATH: '/bin', HOME: '/h', CUDA_VISIBLE_DEVICES: '0,2', PORT: '{port}', EMPTY: '' },
    cwd: '/etc/naru/sub',
  });
});

test('a configuration is deeply immutable', () => {
  const config = configOf(smallest);
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    assert.ok(Object.isFrozen(value), path);
    for (const [name, inner] of Object.entries(value)) walk(inner, `${path}.${name}`);
  };
  walk(config, 'config');
});

test('a file with ten faults reports all ten, each at its line and column, from the top down', () => {
  const text = `listen: { prot: 8787 }
admin: { host: 0.0.0.0 }
limits:
  burst: many
providers:
  - slug: openai
    dialect: opena
    base_url: api.openai.com
slots:
  - name: local-a
models:
  - id: meta/llama:free
    context_length: 8192
    price: { prompt: -1, completion: 1.2.3, per: token }
    candidates:
      - { provider: opena, model: gpt-x }
      - {}
`;
  assert.deepEqual(faultsOf(text), [
    'naru.yaml:1:11 listen.prot: unknown member (did you mean "port"?)',
    'naru.yaml:2:16 admin.host: must be a loopback address such as 127.0.0.1: metrics are not for the network',
    'naru.yaml:4:10 limits.burst: must be a whole number from 1 to 1000000, not "many"',
    'naru.yaml:7:14 providers[0].dialect: must be one of openai, anthropic, google, bedrock (did you mean "openai"?), not "opena"',
    'naru.yaml:8:15 providers[0].base_url: must be a URL that begins with http:// or https://',
    'naru.yaml:10:5 slots[0]: needs one of command, external and k8s',
    'naru.yaml:12:9 models[0].id: must not contain a colon: variant suffixes do not exist',
    'naru.yaml:14:22 models[0].price.prompt: must be a decimal number, 0 or more, not "-1"',
    'naru.yaml:14:38 models[0].price.completion: must be a decimal number, 0 or more, not "1.2.3"',
    'naru.yaml:16:21 models[0].candidates[0].provider: no provider is called "opena" (did you mean "openai"?)',
    'naru.yaml:17:9 models[0].candidates[1]: needs one of slot and provider',
  ]);
});
