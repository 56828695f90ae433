import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import {
  type AccountOptions,
  startTestGateway,
  type TestAccount,
  type TestGateway,
  type TestGatewayOptions,
} from './gateway.ts';
import { ledgerOf, numberOf } from './read-ledger.ts';
import { eventually } from './until.ts';
import { startUpstream, type Upstream } from './upstream.ts';

/**
 * What a client from npm is pointed at: a gateway with one scripted upstream behind each of its
 * models.
 */
export interface ClientWorld {
  readonly naru: TestGateway;
  readonly upstream: Upstream;
  /** The base URL to configure in the client. */
  readonly url: string;
  /** How many requests clients have sent to the gateway, retries included. */
  readonly requestCount: number;
  /** A separate account for a test, so that its ledger is the test's alone. */
  payer(options?: AccountOptions): Promise<Payer>;
  /**
   * Fails when a client connected, or tried to, to anything but this machine: no client phones
   * home.
   */
  close(): Promise<void>;
}

/** An account whose ledger a test reads. */
export interface Payer extends TestAccount {
  /**
   * Fails unless the ledger has exactly these charges, in won, oldest first, and balance and key
   * agree with their sum.
   */
  charged(...costs: readonly number[]): Promise<void>;
  /**
   * Waits until the account's only request is recorded, since a client that left does not wait for
   * its charge, and fails unless it was abandoned, has a cost, and the ledger has that cost.
   */
  chargedForLeaving(): Promise<void>;
}

/** The model of chat clients: 1 won per prompt token, 2 per completion token. */
export const clientModel = 'test/echo';

/**
 * The shared data of all clients' tool tests: a function, a call of it, and the shape of a
 * response.
 */
export const weather = {
  tool: {
    type: 'function',
    function: {
      name: 'weather',
      description: 'The temperature of a city',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
  call: { id: 'call_seoul', type: 'function', function: { name: 'weather', arguments: '{"city":"Seoul"}' } },
  responseSchema: {
    type: 'object',
    properties: { celsius: { type: 'number' } },
    required: ['celsius'],
    additionalProperties: false,
  },
} as const;

/**
 * Starts the world; `config` is merged over the gateway's own, `models` are added after its one
 * model.
 */
export async function openClientWorld(
  options: Pick<TestGatewayOptions, 'config' | 'models'> = {},
): Promise<ClientWorld> {
  const outside = watchConnections();
  const upstream = await startUpstream();
  const naru = await startTestGateway({
    ...options,
    models: [{ id: clientModel, upstreams: [upstream.url] }, ...(options.models ?? [])],
  });
  const requests = countRequests(naru.origin);
  return {
    naru,
    upstream,
    url: naru.url,
    get requestCount() {
      return requests.count;
    },
    async payer(accountOptions) {
      const account = await naru.account(accountOptions);
      return {
        ...account,
        charged: (...costs) => assertCharged(naru, account, costs),
        chargedForLeaving: () => assertChargedForLeaving(naru, account),
      };
    },
    async close() {
      requests.stop();
      await naru.close();
      await upstream.close();
      assert.deepEqual(outside.stop(), [], 'connections to other machines');
      assert.deepEqual(upstream.faults, []);
    },
  };
}

async function assertCharged(
  naru: TestGateway,
  account: TestAccount,
  costs: readonly number[],
): Promise<void> {
  const ledger = await ledgerOf(naru, account);
  assert.deepEqual(ledger.debits.map(numberOf), costs);
  const sum = costs.reduce((total, cost) => total + cost, 0);
  assert.equal(numberOf(ledger.usage), sum, 'the account and its ledger');
  assert.equal(numberOf(ledger.keyUsage), sum, 'the key and its ledger');
}

async function assertChargedForLeaving(naru: TestGateway, account: TestAccount): Promise<void> {
  const record = await eventually('the record of a client that left', recordLimitMs, async () => {
    const [first] = (await ledgerOf(naru, account)).records;
    return first ?? null;
  });
  assert.equal(record.cancelled, true);
  assert.ok(record.total_cost > 0, 'what was generated is billed');
  await assertCharged(naru, account, [record.total_cost]);
}

/** How long the record of a client that left may take. */
const recordLimitMs = 10_000;
const thisMachine = /^(\/|127\.|::1$|localhost$)/;

/** Records the destinations of this process's sockets, other than loopback. */
function watchConnections(): { stop(): readonly string[] } {
  const outside: string[] = [];
  const note = (target: string | undefined): void => {
    if (target !== undefined && !thisMachine.test(target)) outside.push(target);
  };
  const watch = (message: unknown): void => {
    const socket = (message as { readonly socket?: unknown }).socket;
    if (!(socket instanceof Socket)) return;
    socket.once('lookup', (_error, _address, _family, host) => note(host));
    socket.on('connectionAttempt', note);
  };
  subscribe('net.client.socket', watch);
  return {
    stop() {
      unsubscribe('net.client.socket', watch);
      return outside;
    },
  };
}

/** Counts this process's `fetch` requests to an origin. */
function countRequests(origin: string): { readonly count: number; stop(): void } {
  let count = 0;
  const note = (message: unknown): void => {
    if ((message as { readonly request?: { readonly origin?: unknown } }).request?.origin === origin)
      count += 1;
  };
  subscribe('undici:request:create', note);
  return {
    get count() {
      return count;
    },
    stop: () => void unsubscribe('undici:request:create', note),
  };
}
