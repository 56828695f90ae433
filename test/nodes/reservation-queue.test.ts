/* spec:money/6.6,6.7: the line of requests that wait until enough of those in flight have settled. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { Account } from '../../src/accounts/account.ts';
import { silentLog } from '../../src/log/log.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { CreditLeases } from '../../src/nodes/credit-leases.ts';
import { DatabaseWaits } from '../../src/nodes/database-waits.ts';
import { ReservationQueues } from '../../src/nodes/reservation-queue.ts';
import type {
  ReservationRequest,
  ReservationResult,
  SpendSubject,
} from '../../src/nodes/reservation-request.ts';
import type { Database } from '../../src/store/database.ts';
import { type Clock, systemClock } from '../../src/time/clock.ts';
import { checkAsync } from '../harness/property.ts';

/** Time stands still: a queue changes only because of an event. */
const waits = new DatabaseWaits({ clock: systemClock, log: silentLog, isAway: () => false });
const stillClock: Clock = { now: () => 0, monotonic: () => 0, after: () => ({ cancel: () => {} }) };
const keyCount = 3;

type Step =
  | { readonly kind: 'request'; readonly key: number; readonly amount: number }
  /** One in flight ends, and costs a part of its estimate or more than it. */
  | { readonly kind: 'end'; readonly which: number; readonly percent: number }
  | { readonly kind: 'leave'; readonly which: number }
  | { readonly kind: 'top-up'; readonly amount: number };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('request'), key: fc.nat(keyCount - 1), amount: fc.nat(120) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('end'), which: fc.nat(9), percent: fc.nat(130) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave'), which: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('top-up'), amount: fc.nat(150) }) },
) as fc.Arbitrary<Step>;

interface QueuedRequest {
  readonly n: number;
  readonly key: number;
  readonly amount: bigint;
  readonly leave: AbortController;
  state: 'waiting' | 'in flight' | 'refused' | 'over';
}

/** One account with three keys, of which two have a limit, on a node that is alone. */
class World {
  readonly requests: QueuedRequest[] = [];
  /** Limits, usage and reservations of the keys. */
  readonly keys = [null, 150n, 300n].map((limit) => ({ limit, usage: 0n, held: 0n }));
  readonly account = new Account({ accountId: 1, credits: 200n, usage: 0n, version: 1n }, 0);
  readonly floor = 20n;
  readonly lines: ReservationQueues;
  overspentBy = 0n;

  constructor() {
    const nodes = { id: 1, isAlone: true, count: 1, untilSeen: null, isSeen: true, beat: async () => {} };
    const database = {} as Database;
    const shares = new CreditLeases({ database, clock: stillClock, nodes, isCurrent: () => true });
    this.lines = new ReservationQueues({ clock: stillClock, leases: shares, waits });
  }

  get waiting(): readonly QueuedRequest[] {
    return this.requests.filter(({ state }) => state === 'waiting');
  }

  get inFlight(): readonly QueuedRequest[] {
    return this.requests.filter(({ state }) => state === 'in flight');
  }

  #keyOf(at: number) {
    return this.keys[at] ?? assert.fail('no such key');
  }

  /** By settled figures alone. */
  refuses(at: number): boolean {
    const { limit, usage } = this.#keyOf(at);
    return this.account.balance <= 0n || (limit !== null && usage >= limit);
  }

  spendersOf(at: number): readonly SpendSubject[] {
    const { account, floor } = this;
    const key = this.#keyOf(at);
    const common = { id: 1, accountId: 1, readRemaining: async () => 0n };
    const ofAccount: SpendSubject = {
      ...common,
      kind: 'account',
      outstanding: account.outstanding,
      reserved: account.reserved,
      left: account.committedBalance + floor,
    };
    if (key.limit === null) return [ofAccount];
    const { held: reserved } = key;
    return [
      ofAccount,
      { ...common, id: at, kind: 'key', outstanding: reserved, reserved, left: key.limit - key.usage },
    ];
  }

  /** What keeps the first of these waiting: its key, the account, or neither. */
  blockerOf({ key: at, amount }: QueuedRequest): 'key' | 'account' | null {
    const [ofAccount, ofKey] = this.spendersOf(at);
    const blocks = (one?: SpendSubject) =>
      one !== undefined && one.reserved > 0n && one.left - one.outstanding < amount;
    return blocks(ofKey) ? 'key' : blocks(ofAccount) ? 'account' : null;
  }

  request(key: number, amount: bigint): void {
    if (this.refuses(key)) return;
    const leave = new AbortController();
    const request: QueuedRequest = { n: this.requests.length, key, amount, leave, state: 'waiting' };
    this.requests.push(request);
    const world = this;
    const waiting = this.lines.enter({
      accountId: 1,
      amount,
      isKnown: true,
      get subjects() {
        return world.spendersOf(key);
      },
      refusal: () => (this.refuses(key) ? new Error('402') : null),
      count: () => this.#reserve(request),
      uncount: () => assert.fail('nothing is lost'),
      signal: leave.signal,
      maxWaitMs: 1_000,
    });
    waiting?.catch((error: Error) => {
      assert.equal(request.state, 'waiting');
      if (error.message === '402') assert.ok(this.refuses(key), 'refused although settled figures admit it');
      request.state = error.message === '402' ? 'refused' : 'over';
    });
  }

  #reserve(sent: QueuedRequest): void {
    assert.equal(sent.state, 'waiting', 'placed once');
    assert.ok(!this.refuses(sent.key), 'admitted although settled figures refuse it');
    if (sent.amount > 0n) {
      assert.equal(this.blockerOf(sent), null, 'admitted beside others that leave it no room');
      const earlier = this.waiting.filter(({ n }) => n < sent.n);
      assert.ok(!earlier.some(({ key }) => key === sent.key), 'it passed one of its own key');
      for (const one of earlier)
        assert.equal(this.blockerOf(one), 'key', 'it passed one that does not wait for its key');
    }
    sent.state = 'in flight';
    this.account.reserve(krwOfMicro(sent.amount));
    this.#keyOf(sent.key).held += sent.amount;
  }

  end(request: QueuedRequest, cost: bigint): void {
    request.state = 'over';
    this.account.charge(krwOfMicro(cost));
    this.#keyOf(request.key).usage += cost;
    this.account.release(krwOfMicro(request.amount));
    this.#keyOf(request.key).held -= request.amount;
    if (cost > request.amount) this.overspentBy += cost - request.amount;
    this.lines.wake(1);
    // One request, and what others cost more than was expected of them.
    const largest = this.requests.reduce((most, { amount }) => (amount > most ? amount : most), 0n);
    const slack = largest + this.overspentBy;
    assert.ok(this.account.balance >= -this.floor - slack, `overspent to ${this.account.balance}`);
    for (const { limit, usage } of this.keys) if (limit !== null) assert.ok(usage <= limit + slack);
  }

  topUp(amount: bigint): void {
    this.account.uncharge(krwOfMicro(amount));
    this.lines.wakeAll();
  }
}

test('for any sequence of events the queue is first come, first served, overspends by one request and rejects by settled figures', async (t) => {
  const seen = { waited: 0, refused: 0 };
  const steps = fc.array(anyStep, { minLength: 5, maxLength: 60 });
  await checkAsync(
    fc.asyncProperty(steps, async (happenings) => {
      const world = new World();
      for (const step of happenings) {
        if (step.kind === 'request') world.request(step.key, BigInt(step.amount));
        else if (step.kind === 'top-up') world.topUp(BigInt(step.amount));
        else if (step.kind === 'leave') {
          const one = world.waiting[step.which % Math.max(1, world.waiting.length)];
          one?.leave.abort(new Error('left'));
        } else {
          const one = world.inFlight[step.which % Math.max(1, world.inFlight.length)];
          if (one !== undefined) world.end(one, (one.amount * BigInt(step.percent)) / 100n);
        }
        seen.waited += world.waiting.length;
        await turn();
        assert.equal(world.lines.waiting, world.waiting.length);
        // No request waits that could be admitted, or must be rejected.
        const [head] = world.waiting;
        if (head !== undefined) assert.notEqual(world.blockerOf(head), null);
        for (const one of world.waiting)
          if (world.inFlight.length === 0) assert.fail(`${one.n} waits for no request`);
      }
      for (let n = 0; world.inFlight.length + world.waiting.length > 0; n += 1) {
        assert.ok(n < 500, 'the line does not end');
        const [one] = world.inFlight;
        if (one !== undefined) world.end(one, one.amount / 2n);
        await turn();
      }
      seen.refused += world.requests.filter(({ state }) => state === 'refused').length;
      assert.deepEqual([world.account.reserved, world.lines.waiting], [0n, 0]);
    }),
    { numRuns: 400 },
  );
  t.diagnostic(JSON.stringify(seen));
  assert.ok(seen.waited > 200 && seen.refused > 15, JSON.stringify(seen));
});

test('a request whose check throws fails with that error, and the queue continues for the others', async () => {
  const world = new World();
  const enter = (amount: bigint, refusal: () => Error | null, ended: string[]) =>
    world.lines
      .enter({
        accountId: 1,
        amount,
        isKnown: true,
        subjects: world.spendersOf(0),
        refusal,
        count: () => ended.push('placed'),
        uncount: () => ended.push('lost'),
        signal: new AbortController().signal,
        maxWaitMs: 1_000,
      })
      ?.catch((error: Error) => ended.push(error.message));
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  try {
    world.request(0, 120n);
    world.request(0, 120n);
    await turn();
    assert.equal(world.waiting.length, 1, 'one waits in line');
    const ended: string[] = [];
    const fails = (): never => {
      throw new Error('the check is broken');
    };
    void enter(1n, fails, ended);
    void enter(1n, () => new Error('402'), ended);
    world.lines.wakeAll();
    for (let turns = 0; turns < 5; turns += 1) await turn();
    assert.deepEqual(ended, ['the check is broken', '402']);
    const [first] = world.inFlight;
    assert.ok(first !== undefined);
    world.end(first, 10n);
    for (let turns = 0; turns < 5; turns += 1) await turn();
    assert.equal(world.waiting.length, 0, 'the line still serves');
    assert.deepEqual(unhandled, []);
  } finally {
    process.off('unhandledRejection', note);
  }
});

test('a release is requested at once for what a request waits for, however long another has waited', async () => {
  let nowMs = 0;
  const timers: (() => void)[] = [];
  const clock: Clock = {
    now: () => nowMs,
    monotonic: () => nowMs,
    after: (_ms, task) => {
      timers.push(task);
      return { cancel: () => {} };
    },
  };
  const subject = (kind: SpendSubject['kind'], id: number): SpendSubject => ({
    ...{ kind, id, accountId: 1, outstanding: 0n, reserved: 0n, left: 0n, readRemaining: async () => 0n },
  });
  const requested: string[] = [];
  /** Each waits for its last subject, which other nodes have leases of. */
  const leases = {
    reserveNow: () => null,
    reserve: async ({ subjects }: ReservationRequest): Promise<ReservationResult> => ({
      ...{ kind: 'blocked', by: subjects.at(-1) ?? assert.fail('no subject'), isShared: true },
    }),
    requestRelease: async ({ kind, id }: SpendSubject) => void requested.push(`${kind} ${id} at ${nowMs}`),
  };
  const queues = new ReservationQueues({ clock, leases, waits });
  const leave = new AbortController();
  const enter = (...subjects: SpendSubject[]) =>
    queues
      .enter({
        ...{ accountId: 1, amount: 1n, isKnown: true, subjects, refusal: () => null, count: () => {} },
        ...{ uncount: () => {}, signal: leave.signal, maxWaitMs: 1_000_000 },
      })
      ?.catch(() => {});
  const settle = async (): Promise<void> => {
    for (let turns = 0; turns < 5; turns += 1) await turn();
  };
  const left = [enter(subject('account', 1), subject('key', 1))];
  await settle();
  for (let look = 0; look < 10; look += 1) {
    nowMs += 320;
    for (const task of timers.splice(0)) task();
    await settle();
  }
  const before = requested.length;
  nowMs += 1;
  left.push(enter(subject('account', 1)));
  await settle();
  assert.deepEqual(requested.slice(before), [`account 1 at ${nowMs}`]);
  leave.abort();
  await Promise.all(left);
});
