import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IpcChannel, type WorkerProcess } from '../../src/app/workers/ipc.ts';
import type { ParentChannel, WorkerStartMessage } from '../../src/app/workers/messages.ts';
import { type WorkerStart, WorkerSupervisor } from '../../src/app/workers/supervisor.ts';
import { silentLog } from '../../src/log/log.ts';
import { type Clock, systemClock } from '../../src/time/clock.ts';
import { until } from '../harness/until.ts';

/* How a parent leads its workers, with workers that are scripted: the real ones are in workers.test.ts. */

interface Scripted {
  readonly worker: number;
  /** The configurations it was given, in order. */
  readonly configs: string[];
  end(how: number | string): void;
  isEnded: boolean;
  isAborted: boolean;
}

/** Two workers that follow `script`; `slow` delays the response to `serve`. */
function teamOf(script: {
  refuses?: (worker: number) => boolean;
  slow?: () => Promise<void>;
  hangs?: (worker: number) => boolean;
  isUnresponsive?: boolean;
  clock?: Clock;
}) {
  const clock = script.clock ?? systemClock;
  const all: Scripted[] = [];
  let config = 'old';
  const fork = (): WorkerProcess => {
    const parentListeners: ((message: unknown) => void)[] = [];
    const childListeners: ((message: unknown) => void)[] = [];
    const send = (listeners: typeof parentListeners) => (message: object) => {
      const copy = JSON.parse(JSON.stringify(message));
      setImmediate(() => listeners.forEach((listener) => void listener(copy)));
    };
    let onEnd = (_how: number | string): void => {};
    const one: { -readonly [K in keyof Scripted]: Scripted[K] } = {
      worker: 0,
      configs: [],
      isEnded: false,
      isAborted: false,
      end(how) {
        if (one.isEnded) return;
        one.isEnded = true;
        onEnd(how);
      },
    };
    all.push(one);
    const link: ParentChannel = new IpcChannel({
      send: send(parentListeners),
      onMessage: (listener) => void childListeners.push(listener),
    });
    link.handle({
      serve: async (order) => {
        one.worker = order.worker;
        one.configs.push(order.config);
        await script.slow?.();
        return { port: 1 };
      },
      reload: (packed) => {
        if (script.refuses?.(one.worker)) throw new Error('cannot');
        if (script.hangs?.(one.worker)) return new Promise(() => {});
        one.configs.push(packed);
        return undefined;
      },
      stop: () => void (script.isUnresponsive || setImmediate(() => one.end(0))),
      abort: () => {
        one.isAborted = true;
      },
    });
    return {
      pid: all.length,
      send: send(childListeners),
      onMessage: (listener) => void parentListeners.push(listener),
      kill: () => one.end('SIGKILL'),
      onEnd: (ended) => {
        onEnd = ended;
      },
    };
  };
  const order = (worker: number): WorkerStartMessage => ({
    worker,
    config,
    workers: 1,
    database: {},
    poolSize: 1,
    home: '',
  });
  const start: WorkerStart = { log: silentLog, startMessage: order, onWorkerStarted: () => () => {} };
  const team = new WorkerSupervisor({ size: 2, fork, clock });
  const take = () => {
    config = 'new';
  };
  return { team, start, all, take, taken: () => config === 'new' };
}

test('a configuration that the first worker rejects is used by none', async () => {
  const { team, start, all, take, taken } = teamOf({ refuses: () => true });
  assert.equal(await team.serve(start), 1);
  await assert.rejects(team.reload('new', take), /cannot/);
  assert.equal(taken(), false);
  assert.deepEqual(
    all.map(({ configs }) => configs),
    [['old'], ['old']],
  );
});

test('a worker that cannot apply a configuration that the first applied exits, and its successor starts with it', async () => {
  const { team, start, all, take } = teamOf({ refuses: (worker) => worker === 2 });
  await team.serve(start);
  await team.reload('new', take);
  await until('it has left', () => all[1]?.isEnded === true);
  await until('its successor serves', () => team.serving === 2);
  assert.deepEqual([all[0]?.configs, all[2]?.worker, all[2]?.configs], [['old', 'new'], 2, ['new']]);
  assert.equal(team.restarts, 1);
});

for (const hung of [1, 2]) {
  test(`a worker that hangs does not block a reload: worker ${hung} of two`, async () => {
    const late: (() => void)[] = [];
    const clock: Clock = {
      ...systemClock,
      after(delayMs, task) {
        if (delayMs < 10_000) return systemClock.after(delayMs, task);
        late.push(task);
        return { cancel: () => {} };
      },
    };
    const isHung = (worker: number): boolean => worker === hung && all.length === 2;
    const { team, start, all, take, taken } = teamOf({ clock, hangs: isHung });
    await team.serve(start);
    const reloaded = team.reload('new', take).then(
      () => 'reloaded',
      (error: Error) => error.message,
    );
    const isFirst = hung === 1;
    await until('it is being waited for', () => late.length === (isFirst ? 1 : 2));
    late.at(-1)?.();
    assert.match(await reloaded, isFirst ? /worker 1 does not respond/ : /reloaded/);
    assert.equal(taken(), !isFirst);
    await until('its successor serves', () => all.length === 3 && team.serving === 2);
    assert.deepEqual(all[2]?.configs, [isFirst ? 'old' : 'new']);
    if (isFirst) await team.reload('new', take);
    for (const { isEnded, configs } of all) assert.ok(isEnded || configs.at(-1) === 'new');
  });
}

test('a successor that starts during a reload gets the configuration of the other workers', async () => {
  let slow = Promise.resolve();
  const { team, start, all, take } = teamOf({ slow: () => slow });
  await team.serve(start);
  const started = Promise.withResolvers<void>();
  slow = started.promise;
  all[1]?.end('SIGKILL');
  await until('it has ended', () => team.serving === 1);
  await until('its successor starts', () => all[2]?.configs.length === 1);
  await team.reload('new', take);
  started.resolve();
  await until('it has followed', () => all[2]?.configs.at(-1) === 'new');
  assert.deepEqual(all[2]?.configs, ['old', 'new']);
});

test('a worker that is leaving does not validate a configuration', async () => {
  const { team, start, all, take } = teamOf({ refuses: (worker) => worker === 2, isUnresponsive: true });
  await team.serve(start);
  await team.reload('new', take);
  all[0]?.end('SIGKILL');
  await until('the first has a successor', () => all[2] !== undefined && team.serving === 2);
  await team.reload('newer', take);
  assert.deepEqual(all[2]?.configs, ['new', 'newer']);
});

test('a worker that neither drains nor stops faster is killed at the time limit', async () => {
  const waiting: { readonly delayMs: number; readonly task: () => void }[] = [];
  const clock: Clock = {
    ...systemClock,
    after(delayMs, task) {
      waiting.push({ delayMs, task });
      return { cancel: () => {} };
    },
  };
  const { team, start, all } = teamOf({ isUnresponsive: true, clock });
  await team.serve(start);
  const abort = new AbortController();
  const stopped = team.stop(30_000, abort.signal);
  abort.abort();
  const delays = waiting.map(({ delayMs }) => delayMs);
  assert.deepEqual(delays, [40_000, 10_000], 'beyond the drain, and after the abort');
  await until('both are aborted', () => all.every(({ isAborted }) => isAborted));
  const isKilled = all.some(({ isEnded }) => isEnded);
  assert.equal(isKilled, false);
  waiting[1]?.task();
  await stopped;
  assert.equal(team.serving, 0);
  assert.equal(team.restarts, 0, 'no worker is replaced during a stop');
});
