import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashKey, type KeyHash, type KeyKind } from '../../src/accounts/api-key.ts';
import type { Gateway } from '../../src/app/gateway.ts';
import { FollowedConfiguration } from '../../src/app/running-configuration.ts';
import { type Server, type ServerParts, startServer } from '../../src/app/server.ts';
import { InProcessWorker } from '../../src/app/workers/in-process-worker.ts';
import { publishPrices } from '../../src/catalogue/publish.ts';
import type { Config } from '../../src/config/config.ts';
import { describeConfig } from '../../src/config/describe-config.ts';
import { faultText } from '../../src/config/fault.ts';
import { type ConfigSource, loadConfig } from '../../src/config/load.ts';
import { RouteTable } from '../../src/http/route-table.ts';
import { createLog, silentLog } from '../../src/log/log.ts';
import { TokenizerPool } from '../../src/metering/tokenizer-pool.ts';
import { type Krw, krwFromDecimal } from '../../src/money/krw.ts';
import type { OperatorService } from '../../src/operations/operator-service.ts';
import { createOperatorService } from '../../src/operations/operator-service.ts';
import type { Sessions } from '../../src/pages/page-session.ts';
import { createProcesses } from '../../src/slots/drivers/processes.ts';
import { type DatabaseAddress, statementTimeoutMs } from '../../src/store/connection.ts';
import { Database } from '../../src/store/database.ts';
import { DatabaseClock } from '../../src/store/database-clock.ts';
import { systemClock } from '../../src/time/clock.ts';
import type { LimitReset } from '../../src/time/period.ts';
import { createTestDatabase } from './database.ts';
import { assertDocumented } from './shape-check.ts';
import { TestClock } from './test-clock.ts';

/** The gateway of a server in this process, with the parts of the server beside it. */
export type ServedGateway = Pick<Server, 'admin' | 'slots' | 'metrics' | 'reload' | 'close'> &
  Pick<Gateway, 'server' | 'settlements' | 'health' | 'routes' | 'routeReports'>;

/** A whole gateway on a real database and real sockets, with a clock that the test sets. */
export interface TestGateway {
  /** `http://127.0.0.1:PORT/api/v1` */
  readonly url: string;
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  readonly gateway: ServedGateway;
  readonly database: Database;
  readonly operator: OperatorService;
  readonly clock: TestClock;
  readonly dataDir: string;
  /** What it was started with. */
  readonly config: Config;
  /** What was logged, parsed. */
  readonly logged: Record<string, unknown>[];
  /** An account with credit in won (10,000 by default) and an inference key. */
  account(options?: AccountOptions): Promise<TestAccount>;
  /** Sends a request; `key` becomes the bearer token, an object body becomes JSON. */
  send(method: string, path: string, options?: SendOptions): Promise<TestResponse>;
  /** Resolves when everything settled so far is in the database. */
  settled(): Promise<void>;
  /** The sum of all series of a metric; fails the test when there is no such metric. */
  metric(name: string): Promise<number>;
  /** Stops the gateway and leaves its database and data directory for another one. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

export interface AccountOptions {
  readonly credit?: string;
  readonly limit?: string;
  readonly limitReset?: LimitReset;
  readonly expiresAtMs?: number;
}

export interface TestAccount {
  readonly accountId: number;
  readonly key: string;
  readonly hash: KeyHash;
  /** Another key of the account. */
  another(
    options?: AccountOptions & { readonly kind?: KeyKind },
  ): Promise<{ readonly key: string; readonly hash: KeyHash }>;
  topUp(won: string): Promise<void>;
}

export interface SendOptions {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface TestResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; fails the test when it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies as a client would.
  readonly json: any;
}

/** One model of the test's catalogue; `upstream` names base URLs, one candidate each, in order. */
export interface TestModel {
  readonly id: string;
  readonly upstreams: readonly string[];
  /** How its providers are reached; an API like OpenAI's when absent. */
  readonly provider?: object;
  /** YAML members laid over the model and over its candidates. */
  readonly model?: object;
  readonly candidates?: readonly object[];
}

export interface TestGatewayOptions {
  readonly models?: readonly TestModel[];
  /** Members of naru.yaml laid over the test's own. */
  readonly config?: Readonly<Record<string, object>>;
  readonly clock?: TestClock;
  /** As in production: the clock is the machine's, and everything is dated by that of the database. */
  readonly followsDatabase?: boolean;
  /**
   * Inserts a proxy between the gateway and its database: given the real address, returns the one
   * to use.
   */
  readonly through?: (address: DatabaseAddress) => DatabaseAddress | Promise<DatabaseAddress>;
  /**
   * An earlier gateway whose database and data directory this one takes over, as after a restart.
   */
  readonly after?: TestGateway;
  /** An existing database; its creator drops it. */
  readonly address?: DatabaseAddress;
  /** A gateway whose database this one shares as another node, with its own data directory. */
  readonly beside?: TestGateway;
  /** Whether the prices of its models are published beside those of the other gateway. */
  readonly publishes?: boolean;
  /** Who is signed in to the pages; absent: as in production. */
  readonly sessions?: Sessions;
  /** The folder of the built pages. */
  readonly distFolder?: string;
  /** What the console compares and publishes; absent: the configuration in effect. */
  readonly configFile?: ServerParts['configFile'];
  /**
   * The test makes it fail inside. Otherwise `close` throws when any request ended as an internal
   * error (spec:conformance/19).
   */
  readonly expectsInternalErrors?: boolean;
  /** It counts tokens in a thread of its own: the test shows that nothing is left of a gateway. */
  readonly hasOwnTokens?: boolean;
}

/** The default prices of test models: 1 won per prompt token, 2 per completion token. */
export const testPrice = { prompt: 1, completion: 2, currency: 'KRW', per: 'token', confirm: true };
export const providerKey = 'provider-secret-0123456789abcdef';

/**
 * A gateway writes two segments of its journal in full when it starts: 32 MB of the usual ones take
 * a fifth of its processor time. A test fills more of these instead.
 */
const segmentBytes = 1024 * 1024;

/**
 * The thread that counts tokens for all gateways of a process of tests: to start one takes 0.2 s of
 * processor time. The end of the process ends it; another program must be able to end by itself.
 */
let tokens: TokenizerPool | null = null;

function sharedTokens(): { readonly tokens?: TokenizerPool } {
  if (process.env['NODE_TEST_CONTEXT'] === undefined) return {};
  tokens ??= new TokenizerPool({ clock: systemClock, log: silentLog });
  return { tokens };
}

/** The configuration of a test: each upstream URL becomes a provider `up1`, `up2`, … */
export function testConfig(options: TestGatewayOptions): Config {
  const loaded = loadConfig(sourceOf(testTree(options)));
  if (!loaded.ok) throw new Error(loaded.faults.map((fault) => faultText('test', fault)).join('\n'));
  return loaded.config;
}

/** The same as `naru.yaml` has it. */
function testTree(options: TestGatewayOptions): object {
  const models = options.models ?? [];
  const urls = [...new Set(models.flatMap((model) => model.upstreams))];
  const { config: laid = {} } = options;
  return {
    listen: { host: '127.0.0.1', port: 0 },
    admin: { host: '127.0.0.1', port: 0 },
    providers: urls.map((url, index) => ({
      slug: `up${index + 1}`,
      name: `Upstream ${index + 1}`,
      ...(models.find(({ upstreams }) => upstreams.includes(url))?.provider ?? {
        dialect: 'openai',
        base_url: url,
        api_key: providerKey,
      }),
    })),
    models: models.map((model) => ({
      id: model.id,
      name: `Test: ${model.id}`,
      context_length: 32_768,
      price: testPrice,
      candidates: model.upstreams.map((url, index) => ({
        provider: `up${urls.indexOf(url) + 1}`,
        model: `upstream-${model.id.split('/')[1]}`,
        ...model.candidates?.[index],
      })),
      ...model.model,
    })),
    ...laid,
    // An address of documentation: no test is behind it.
    edge: { rate_limit: 'external', trusted_proxies: ['192.0.2.1'], ...laid['edge'] },
    log: { level: 'debug' },
  };
}

function sourceOf(tree: object): ConfigSource {
  return {
    text: JSON.stringify(tree),
    path: '/test/naru.yaml',
    env: {},
    readFile: () => {
      throw new Error('no files in test configurations');
    },
  };
}

export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const config = testConfig(options);
  const other = options.after ?? options.beside;
  const clock = options.clock ?? other?.clock ?? new TestClock();
  const dataDir = options.after?.dataDir ?? mkdtempSync(join(tmpdir(), 'naru-test-'));
  const given = options.address ?? other?.database.address;
  const testDatabase = given === undefined ? await createTestDatabase() : null;
  const address = testDatabase?.address ?? given;
  if (address === undefined) throw new Error('a gateway to take over has a database');
  const database = new Database((await options.through?.(address)) ?? address, 8, statementTimeoutMs);
  const logged: Record<string, unknown>[] = [];
  const log = createLog(
    (line) => logged.push(JSON.parse(line)),
    'debug',
    () => clock.now(),
  );
  const dated = options.followsDatabase === true ? await DatabaseClock.open(database, clock) : clock;
  if (dated instanceof DatabaseClock) dated.follow(log);
  const processes = createProcesses((pid, signal) => process.kill(pid, signal));
  if (options.publishes === true) {
    const models = [...(options.beside?.config.models ?? []), ...config.models];
    await publishPrices(database, { ...config, models }, { atMs: clock.now(), announce: 'edition' });
  }
  const gateway = await serveHere({
    config,
    database,
    dataDir,
    proc: { version: '0.0.0', uid: process.getuid?.() ?? -1, env: process.env },
    clock: dated,
    log,
    processes,
    journal: { segmentBytes },
    ...(options.hasOwnTokens === true ? {} : sharedTokens()),
    configuration: new FollowedConfiguration({
      file: '/test/naru.yaml',
      describe: () => describeConfig(sourceOf(testTree(options))),
      clock,
    }),
    ...(options.sessions === undefined ? {} : { sessions: options.sessions }),
    ...(options.distFolder === undefined ? {} : { distFolder: options.distFolder }),
    ...(options.configFile === undefined ? {} : { configFile: options.configFile }),
  });
  const origin = `http://127.0.0.1:${gateway.server.port}`;
  const operator = createOperatorService(database, {
    clock: dated,
    keyPrefix: config.keys.prefix,
    close: async () => {},
  });
  const table = new RouteTable(gateway.routes);
  const abort = new AbortController();
  let closed = false;
  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    abort.abort();
    stopped ??= gateway.close(abort.signal);
    return stopped;
  };
  return {
    url: `${origin}/api/v1`,
    origin,
    gateway,
    database,
    operator,
    clock,
    dataDir,
    config,
    logged,
    account: (accountOptions) => createTestAccount(operator, accountOptions ?? {}),
    async send(method, path, sendOptions) {
      const target = /^\/(healthz|readyz|openapi\.json|docs)/.test(path) ? path : `/api/v1${path}`;
      const response = await send(`${origin}${target}`, method, sendOptions ?? {});
      if (target.startsWith('/api/v1'))
        assertDocumented(table, method, target.split('?')[0] ?? target, response);
      return response;
    },
    settled: () => gateway.settlements.drained(),
    async metric(name) {
      const found = (await gateway.metrics()).find((metric) => metric.name === name);
      assert.ok(found !== undefined, `no metric ${name}`);
      return found.values.reduce((sum, { value }) => sum + value, 0);
    },
    stop,
    async close() {
      if (closed) return;
      closed = true;
      await stop();
      if (dated instanceof DatabaseClock) dated.close();
      await database.close();
      await testDatabase?.drop();
      if (options.after === undefined) rmSync(dataDir, { recursive: true, force: true });
      if (options.expectsInternalErrors !== true) assertNoInternalErrors(logged);
    },
  };
}

/** Starts the server as `naru up` does with one worker. */
async function serveHere(
  parts: Omit<ServerParts, 'workers' | 'stopRequested' | 'onPublished' | 'onSuperseded' | 'onHistoryChanged'>,
): Promise<ServedGateway> {
  const worker = new InProcessWorker(async () => []);
  // Changes may be read during the start.
  let server: Server | null = null;
  server = await startServer({
    ...parts,
    workers: worker,
    stopRequested: new Promise(() => {}),
    // There is no file to read again.
    onPublished: ({ edition }) => {
      if (edition > (server?.ownEdition ?? edition)) void server?.keepConfiguration().catch(() => {});
    },
    onSuperseded: () => {},
    onHistoryChanged: () => {},
  });
  assert.ok(server !== null);
  const { server: served, settlements, health, routes, routeReports } = worker.gateway;
  const { admin, slots, metrics, reload, close } = server;
  return { server: served, settlements, health, routes, routeReports, admin, slots, metrics, reload, close };
}

/**
 * A request that ends as an internal error is a defect, whatever the test checks
 * (spec:conformance/19).
 */
function assertNoInternalErrors(logged: readonly Record<string, unknown>[]): void {
  const internal = logged.filter((line) => line['event'] === 'internal_error');
  if (internal.length === 0) return;
  throw new Error(`${internal.length} internal errors, the first: ${JSON.stringify(internal[0])}`);
}

async function createTestAccount(operator: OperatorService, options: AccountOptions): Promise<TestAccount> {
  const accountId = await operator.createAccount({ name: 'test', email: null });
  const topUp = async (amount: string): Promise<void> => {
    await operator.grantCredit({
      accountId,
      kind: 'topup',
      amount: won(amount),
      expiresAtMs: null,
      idempotencyKey: null,
      memo: null,
    });
  };
  if (options.credit !== '0') await topUp(options.credit ?? '10000');
  const another: TestAccount['another'] = async (key = {}) => {
    const { plaintext } = await operator.createKey({
      accountId,
      kind: key.kind ?? 'inference',
      name: 'test key',
      limit: key.limit === undefined ? null : won(key.limit),
      limitReset: key.limitReset ?? 'never',
      expiresAtMs: key.expiresAtMs ?? null,
    });
    return { key: plaintext, hash: hashKey(plaintext) };
  };
  return { accountId, ...(await another(options)), another, topUp };
}

function won(text: string): Krw {
  const amount = krwFromDecimal(text);
  if (amount === null) throw new Error(`${text} is no amount`);
  return amount;
}

async function send(url: string, method: string, options: SendOptions): Promise<TestResponse> {
  const isJson =
    options.body !== undefined && typeof options.body !== 'string' && !Buffer.isBuffer(options.body);
  const response = await fetch(url, {
    method,
    headers: {
      ...(options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }),
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(options.body === undefined
      ? {}
      : { body: isJson ? JSON.stringify(options.body) : (options.body as string) }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text);
    },
  };
}
