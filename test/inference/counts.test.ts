/**
 * What one response and one chunk of a stream create in the main thread, from the socket and back:
 * promises, timers, listeners, JSON passes, writes. Counted, so the same on every machine and beside
 * any load: a path that grows is noticed (docs/decisions/path-budget.md). A count below its budget
 * lowers the budget.
 */
import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import { test } from 'node:test';
import type { LoadJob, LoadResult } from '../../bench/load-run.ts';
import { startHelper } from '../chaos/goals/helper.ts';
import { startTestGateway } from '../harness/gateway.ts';
import { PACED_CHUNKS } from '../harness/paced-stamp.ts';

/** Content chunks of a stream, which a client takes in one write, by the name of the upstream. */
const chunksOf = { short: 10, long: 40 };

type Counts = Record<string, number>;

/** At most so many of each, and of nothing else. One JSON.parse is the harness's, of the log line. */
const wholeBudget: Counts = {
  promise: 36,
  'JSON.parse': 3,
  'JSON.stringify': 7,
  'listener of an emitter': 7,
  'listener of a signal': 2,
  'abort controller': 1,
  timer: 2,
  immediate: 5,
  tick: 7,
  'asynchronous file operation': 1,
  'write to a socket': 2,
};

/** Of a chunk with text among others that arrived with it. */
const chunkBudget: Counts = { 'JSON.stringify': 1 };

/** Of a chunk that arrives alone, as those of a slow stream do. */
const slowChunkBudget: Counts = {
  promise: 1,
  'JSON.parse': 1,
  'JSON.stringify': 1,
  tick: 2,
  'write to a socket': 1,
};
/** What the streams themselves create is less than one of each chunk. */
const slowStreams = 10;

const typeNames: Readonly<Record<string, string>> = {
  PROMISE: 'promise',
  Timeout: 'timer',
  Immediate: 'immediate',
  TickObject: 'tick',
  FSREQCALLBACK: 'asynchronous file operation',
};

/** Counts what is created between the arrivals of two requests. */
class Counter implements Disposable {
  readonly requests: Counts[] = [];
  #counts: Counts = {};
  readonly #undo = new DisposableStack();
  readonly #next = (): void => {
    this.requests.push(this.#counts);
    this.#counts = {};
  };

  constructor() {
    const hook = createHook({ init: (_id, type) => this.#count(typeNames[type] ?? type) }).enable();
    this.#undo.defer(() => hook.disable());
    subscribe('http.server.request.start', this.#next);
    this.#undo.defer(() => unsubscribe('http.server.request.start', this.#next));
    this.#countCalls(JSON, 'parse', 'JSON.parse');
    this.#countCalls(JSON, 'stringify', 'JSON.stringify');
    this.#countCalls(EventEmitter.prototype, 'on', 'listener of an emitter');
    this.#countCalls(EventEmitter.prototype, 'once', 'listener of an emitter');
    this.#countCalls(EventTarget.prototype, 'addEventListener', 'listener of a signal');
    this.#countCalls(Socket.prototype, '_write', 'write to a socket');
    this.#countCalls(Socket.prototype, '_writev', 'write to a socket');
    const { AbortController } = globalThis;
    const count = (): void => this.#count('abort controller');
    globalThis.AbortController = class extends AbortController {
      constructor() {
        super();
        count();
      }
    };
    this.#undo.defer(() => {
      globalThis.AbortController = AbortController;
    });
  }

  /** Everything that was created. */
  get all(): Counts {
    const all: Counts = {};
    for (const counts of [...this.requests, this.#counts])
      for (const [name, count] of Object.entries(counts)) all[name] = (all[name] ?? 0) + count;
    return all;
  }

  [Symbol.dispose](): void {
    this.#undo.dispose();
  }

  #count(name: string): void {
    this.#counts[name] = (this.#counts[name] ?? 0) + 1;
  }

  #countCalls(owner: object, member: string, name: string): void {
    const called: unknown = Reflect.get(owner, member);
    assert.ok(typeof called === 'function');
    const count = (): void => this.#count(name);
    Reflect.set(owner, member, function (this: unknown, ...args: readonly unknown[]): unknown {
      count();
      return Reflect.apply(called, this, args);
    });
    this.#undo.defer(() => Reflect.set(owner, member, called));
  }
}

/** What every request has, whatever else the process does beside some of them: the least of each. */
function leastOf(requests: readonly Counts[]): Counts {
  const names = new Set(requests.flatMap((counts) => Object.keys(counts)));
  const least = [...names].map(
    (name) => [name, Math.min(...requests.map((counts) => counts[name] ?? 0))] as const,
  );
  return Object.fromEntries(least.filter(([, count]) => count > 0));
}

test('a response and a chunk create no more than their budget', async (t) => {
  const generator = await startHelper('bench/load.ts');
  t.after(() => generator.end());
  const origins: Record<string, string> = {};
  for (const [name, chunks] of Object.entries(chunksOf)) {
    const upstream = await startHelper('test/harness/fast-upstream.ts', '--chunks', String(chunks));
    t.after(() => upstream.end());
    origins[name] = upstream.first.replace('listening on ', '');
  }
  const gateway = await startTestGateway({
    models: [
      { id: 'bench/whole', upstreams: [`${origins['short']}/whole`] },
      { id: 'bench/short', upstreams: [`${origins['short']}/batched`] },
      { id: 'bench/long', upstreams: [`${origins['long']}/batched`] },
      { id: 'bench/slow', upstreams: [`${origins['short']}/paced`] },
    ],
  });
  t.after(() => gateway.close());
  const { key } = await gateway.account({ credit: '100000000' });
  const run = async (model: string, chunks: number | null, connections = 1): Promise<void> => {
    const messages = [{ role: 'user', content: 'hello' }];
    const job: LoadJob = {
      port: Number(new URL(gateway.origin).port),
      path: '/api/v1/chat/completions',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model, messages, stream: chunks !== null }),
      connections,
      seconds: 0.5,
      perSecond: null,
      chunks,
    };
    const response = generator.next();
    generator.send(JSON.stringify(job));
    const { failures, firstFailure } = JSON.parse(await response) as LoadResult;
    assert.equal(failures, 0, `${firstFailure}`);
  };
  const countsOf = async (model: string, chunks: number | null): Promise<Counts> => {
    using counter = new Counter();
    await run(model, chunks);
    // The first requests open connections and learn; behind the last one nothing arrives.
    return leastOf(counter.requests.slice(3));
  };
  await run('bench/whole', null);
  assertWithin(await countsOf('bench/whole', null), wholeBudget, 'a whole response');
  const short = await countsOf('bench/short', chunksOf.short);
  const long = await countsOf('bench/long', chunksOf.long);
  t.diagnostic(`a stream: ${JSON.stringify(short)}`);
  const more = chunksOf.long - chunksOf.short;
  // Whole ones: a longer stream may have one timer more.
  const chunk = Object.entries(long).map(
    ([name, count]) => [name, Math.trunc((count - (short[name] ?? 0)) / more)] as const,
  );
  assertWithin(Object.fromEntries(chunk), chunkBudget, 'a chunk');
  await run('bench/slow', PACED_CHUNKS, slowStreams);
  using counter = new Counter();
  await run('bench/slow', PACED_CHUNKS, slowStreams);
  const slow = Object.entries(counter.all).map(
    ([name, count]) => [name, Math.floor(count / (slowStreams * PACED_CHUNKS))] as const,
  );
  assertWithin(Object.fromEntries(slow), slowChunkBudget, 'a chunk of a slow stream');
});

function assertWithin(found: Counts, budget: Counts, what: string): void {
  const over = Object.entries(found).filter(([name, count]) => count > (budget[name] ?? 0));
  const faults = over.map(([name, count]) => `${count} × ${name} instead of ${budget[name] ?? 0}`);
  assert.deepEqual(faults, [], `${what} creates more than its budget`);
}
