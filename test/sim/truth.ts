import type { Accounting } from '../../src/app/accounting.ts';
import { maxClockSkewMs } from '../../src/time/clock.ts';
import { Audit } from './audit.ts';
import { Claims, type Life, type Subject } from './claims.ts';
import type { ClientView } from './client-view.ts';
import { type Journey, Violation } from './journey.ts';
import type { Tables } from './model/tables.ts';
import type { Store, Transaction } from './model/transactions.ts';
import type { Plan } from './plan.ts';
import type { SimProcess } from './process.ts';
import { type Arrival, Queue } from './queue.ts';
import { beginningMs, type Timeline } from './time.ts';

/** More than any limit: what a key may spend that had no limit a moment ago. */
const unlimited = 10n ** 18n;
/** How long a request for leases waits. */
const leaseWaitMs = 700;
/** What was added is known to every node after this long at the latest. */
const knownWithinMs = 1_500;
/** The first request that waits at a node is admitted, or rejected, within this time once nothing blocks it. */
const admittedWithinMs = 900;
/** A node has caught up with missed changes after this long. */
const calmAfterMs = 2_000;
const expiry = 4;
const adjustment = 6;

/** Observes everything without delay or loss, and fails when a guarantee does not hold. */
export class Truth {
  readonly #store: Store;
  readonly #journey: Journey;
  readonly #timeline: Timeline;
  readonly #lives: () => readonly Life[];
  readonly #views: ReadonlyMap<string, ClientView>;
  readonly #claims: Claims;
  readonly #audit: Audit;
  readonly #floor: bigint;
  readonly #sums = new Map<number, { amount: bigint; entries: number }>();
  /** Every amount of credit that an account ever had, and since when. */
  readonly #credits = new Map<number, { readonly amount: bigint; readonly sinceMs: number }[]>();
  /** The largest estimate so far. */
  readonly #largest = new Map<Subject, bigint>();
  readonly #limits = new Map<number, bigint | null>();
  readonly #limitChangedMs = new Map<number, number>();
  /**
   * The remainder of each at its last commit, and when the settled figures last admitted nothing,
   * in virtual time.
   */
  readonly #lastLeft = new Map<Subject, bigint>();
  readonly #exhaustedMs = new Map<Subject, number>();
  /** What the last raises of a limit or of credit added, each of which a node may not know yet. */
  readonly #raised = new Map<Subject, { readonly atMs: number; readonly by: bigint }>();
  readonly #releaseRequests = new Map<string, { readonly process: SimProcess; readonly atMs: number }>();
  /** The requests that have waited longest at their nodes, and since when nothing blocks them. */
  readonly #ready = new Map<Arrival, number>();
  /** Requests that were passed since the last step: one that is leaving was no longer waiting. */
  readonly #passed = new Map<Arrival, string>();
  /** The waiting requests of all nodes. */
  readonly queue: Queue;
  /** When a node last did not serve, or did not know another. */
  #strangeMs = 0;
  #checks = 0;

  constructor(parts: {
    readonly store: Store;
    readonly journey: Journey;
    readonly timeline: Timeline;
    readonly lives: () => readonly Life[];
    readonly views: ReadonlyMap<string, ClientView>;
    readonly floor: bigint;
  }) {
    this.#store = parts.store;
    this.#journey = parts.journey;
    this.#timeline = parts.timeline;
    this.#lives = parts.lives;
    this.#views = parts.views;
    this.#claims = new Claims(parts);
    this.queue = new Queue(parts.timeline);
    this.#floor = parts.floor;
    this.#audit = new Audit({ ...parts, check: (holds, message) => this.check(holds, message) });
  }

  /** How many times something was compared. */
  get checks(): number {
    return this.#checks;
  }

  get #nowMs(): number {
    return beginningMs + this.#timeline.nowMs;
  }

  /** Fails the simulation unless it holds. */
  check(holds: boolean, message: () => string): void {
    this.#checks += 1;
    if (!holds) throw new Violation(message());
  }

  /** The world is built; from now on it is observed. */
  begin(): void {
    for (const row of this.#store.tables.api_key.values()) this.#limits.set(row.id, row.limit_micro);
  }

  /** Every commit leaves a ledger that agrees. */
  onCommit(tx: Transaction, process: SimProcess, batch: readonly string[]): void {
    if (!this.#claims.areAcquainted(this.#nowMs)) this.#strangeMs = this.#timeline.nowMs;
    const entries = [...(tx.written.get('ledger')?.values() ?? [])] as Tables['ledger'][];
    for (const entry of entries) {
      const sum = this.#sums.get(entry.account_id) ?? { amount: 0n, entries: 0 };
      this.#sums.set(entry.account_id, { amount: sum.amount + entry.amount, entries: sum.entries + 1 });
    }
    const accounts = [...(tx.written.get('account_balance')?.keys() ?? [])];
    for (const key of accounts) {
      const row = this.#store.tables.account_balance.get(key);
      const sum = this.#sums.get(Number(key)) ?? { amount: 0n, entries: 0 };
      this.check(
        row !== undefined && row.credits - row.usage === sum.amount && row.entries === sum.entries,
        () => `account ${key}: the entries add up to ${sum.amount}, the balance differs`,
      );
      if (row !== undefined) this.#noteCredits(Number(key), row.credits);
    }
    const fresh = [...(tx.written.get('generation')?.keys() ?? [])].flatMap((key) => {
      const row = this.#store.tables.generation.get(key);
      return row === undefined ? [] : [row];
    });
    for (const { id, created_at, settled_at } of fresh)
      this.check(
        Math.max(created_at, settled_at) <= this.#nowMs + maxClockSkewMs,
        () => `${id} was settled at ${settled_at - this.#nowMs} ms from now, by the clock of its machine`,
      );
    this.#claims.onSettled(process, fresh);
    this.#audit.onPublished(tx, this.#timeline.nowMs);
    this.#audit.onSettled(fresh, entries);
    this.#audit.onCredit(tx, entries);
    this.#noteTaken(tx, entries);
    this.#heedPleas(tx, process, entries.length > 0);
    this.#noteSpending(tx, entries);
    for (const subject of subjectsOf(tx, fresh)) {
      this.#noteExhausted(subject);
      this.#checkSpending(subject);
    }
    this.#checkLeases(tx);
    this.#checkProgress();
    if (batch.length > fresh.length) {
      const known = new Set(fresh.map(({ id }) => id));
      this.#claims.onRepeated(
        batch.filter((id) => !known.has(id)),
        this.#nowMs,
      );
      const isServing = this.#lives().some((life) => life.process === process && life.gateway !== null);
      this.#journey.met(
        isServing
          ? 'a repeated settlement found its row settled'
          : 'a replay of the journal found a row settled',
      );
    }
  }

  /** Whether settled figures admit nothing: an account without credit, a key at its limit. */
  #isExhausted(subject: Subject, left: bigint): boolean {
    const pending = this.#claims.takenOf(subject) - this.#claims.heldOf(subject);
    return left - pending - (subject.startsWith('account') ? this.#floor : 0n) <= 0n;
  }

  /** Records it as it was until this commit, and as it is from now on. */
  #noteExhausted(subject: Subject): void {
    const left = this.#claims.leftOf(subject);
    // An account begins without credit.
    const before = this.#lastLeft.get(subject) ?? (subject.startsWith('account') ? this.#floor : left);
    if (left === null || before === null) return;
    this.#lastLeft.set(subject, left);
    if (left > before)
      this.#raised.set(subject, { atMs: this.#timeline.nowMs, by: left - before + this.#raisedBy(subject) });
    if (this.#isExhausted(subject, before) || this.#isExhausted(subject, left))
      this.#exhaustedMs.set(subject, this.#timeline.nowMs);
  }

  /** What a moment ago had not been added to the remainder of a subject. */
  #raisedBy(subject: Subject): bigint {
    const raised = this.#raised.get(subject);
    return raised === undefined || raised.atMs < this.#timeline.nowMs - knownWithinMs ? 0n : raised.by;
  }

  /**
   * Requests in flight reject nothing: a request that gets 402 arrived when settled figures
   * required it, or a moment after.
   */
  #checkRejection({ id, sentMs }: ClientView, subject: Subject): void {
    const left = this.#claims.leftOf(subject);
    if (left === null) return;
    const sinceMs = this.#exhaustedMs.get(subject) ?? Number.NEGATIVE_INFINITY;
    this.check(
      this.#isExhausted(subject, left - this.#raisedBy(subject)) || sinceMs >= sentMs - knownWithinMs,
      () => `${id} was refused although ${left} is left of ${subject}`,
    );
    this.#journey.met('a refusal was compared with the settled figures');
  }

  /**
   * Whatever the nodes do and assume: spending exceeds the available amount by at most one
   * estimate.
   */
  #checkSpending(subject: Subject): void {
    this.#claims.endExcuse(subject, this.#nowMs);
    const left = this.#claims.leftOf(subject);
    if (left === null) return;
    const slack = this.#slackOf(subject);
    this.check(left + slack >= 0n, () => `${subject} was overspent by ${-left}, the tolerance is ${slack}`);
  }

  /** All leases of a subject together never exceed its remainder: checked when one is granted. */
  #checkLeases(tx: Transaction): void {
    const shares = tx.written.get('spend_share');
    // A node that is alone queries only when it cannot know that it is, and spends beside its
    // leases.
    if (shares === undefined || tx.written.size > 1 || this.#lives().length === 1) return;
    if (!this.#claims.areAcquainted(this.#nowMs)) return;
    for (const [key, row] of shares) {
      const subject = subjectOf(key);
      const left = this.#claims.leftOf(subject);
      if (row === null || left === null) continue;
      const slack = this.#slackOf(subject) + this.#claims.unreadOf(subject);
      const shared = this.#claims.sharedOf(subject);
      this.check(
        shared <= left + slack,
        () => `${subject} has ${left} left, the leases are ${shared}, the tolerance is ${slack}`,
      );
      // One request is counted before the share that covers it is committed. A key's charge may be
      // counted twice for a moment.
      const sent = this.#largest.get(subject) ?? 0n;
      if (subject.startsWith('account'))
        this.check(
          this.#claims.areLeased(subject, sent),
          () => `a node spends more of ${subject} than its lease and one request of ${sent}`,
        );
    }
  }

  #slackOf(subject: Subject): bigint {
    return (this.#largest.get(subject) ?? 0n) + this.#claims.excusedOf(subject);
  }

  /**
   * What may have been granted already, and is deducted: an adjustment, an expiry, a lower limit.
   */
  #noteTaken(tx: Transaction, entries: readonly Tables['ledger'][]): void {
    for (const { account_id, kind, amount } of entries)
      if (amount < 0n && (kind === expiry || kind === adjustment))
        this.#claims.excuse(`account ${account_id}`, -amount, this.#nowMs);
    for (const row of (tx.written.get('api_key')?.values() ?? []) as Iterable<Tables['api_key']>) {
      const before = this.#limits.get(row.id);
      this.#limits.set(row.id, row.limit_micro);
      if (before !== row.limit_micro) this.#limitChangedMs.set(row.id, this.#timeline.nowMs);
      if (row.limit_micro === null || before === undefined || before === row.limit_micro) continue;
      this.#claims.excuse(`key ${row.id}`, (before ?? unlimited) - row.limit_micro, this.#nowMs);
    }
  }

  #noteSpending(tx: Transaction, entries: readonly Tables['ledger'][]): void {
    if (entries.length > 0 || tx.written.get('spend_share') === undefined) return;
    const nodes = new Map<number, number>();
    const { spend_share: shares, gateway_node: listed } = this.#store.tables;
    for (const { kind, subject, amount, node_id: id } of shares.values())
      if (kind === 1 && amount > 0n && listed.has(String(id)))
        nodes.set(subject, (nodes.get(subject) ?? 0) + 1);
    if ([...nodes.values()].some((count) => count >= 3))
      this.#journey.met('three or more nodes spent credit of one account at once');
  }

  /** A node that requests a release is served when another then returns its lease. */
  #heedPleas(tx: Transaction, process: SimProcess, isSettlement: boolean): void {
    for (const change of (tx.written.get('change_event')?.values() ?? []) as Iterable<Tables['change_event']>)
      if (change.topic.startsWith('share-of-'))
        this.#releaseRequests.set(`${change.topic === 'share-of-account' ? 1 : 2}/${change.subject}`, {
          process,
          atMs: tx.nowMs,
        });
    if (isSettlement) return;
    for (const key of tx.written.get('spend_share')?.keys() ?? []) {
      const subject = key.slice(0, key.lastIndexOf('/'));
      const requester = this.#releaseRequests.get(subject);
      if (requester === undefined || requester.process === process || tx.nowMs - requester.atMs > leaseWaitMs)
        continue;
      this.#releaseRequests.delete(subject);
      this.#journey.met('a release request was granted');
    }
  }

  onNotified(process: SimProcess, batch: readonly string[]): void {
    this.#claims.onNotified(process, batch);
  }

  /**
   * A request is about to be counted: its estimate fits into the remainder beside everything in
   * flight and everything charged and not committed, or nothing else is in flight on any node and
   * the settled figures admit it (src/nodes/README.md).
   */
  onAdmit(arrival: Arrival, { accounts, keys }: Accounting): void {
    const { account, key, amount } = arrival.request;
    this.#claims.noteLost(this.#nowMs);
    this.check(
      !arrival.hasLeft,
      () => `a request of account ${account.id} is admitted after it has left the queue`,
    );
    this.check(key.row.accountId === account.id, () => `key ${key.row.id} spends of account ${account.id}`);
    this.check(
      accounts.getCached(account.id) === account && keys.getCachedById(key.row.id) === key,
      () =>
        `a request of account ${account.id}, key ${key.row.id} is counted on an unknown account or key object`,
    );
    this.check(
      account.outstanding >= 0n && key.outstanding >= 0n,
      () => `more was released on account ${account.id} or key ${key.row.id} than was reserved`,
    );
    this.#checkAdmission(`account ${account.id}`, amount);
    this.#checkAdmission(`key ${key.row.id}`, amount);
    if (amount > 0n) this.#checkTurn(arrival);
    for (const first of this.#ready.keys())
      if (first === arrival || first.request.account.id === account.id) this.#ready.delete(first);
  }

  /**
   * No request waits forever: the one that has waited longest of its account at its node is admitted
   * or rejected soon after its estimate fits beside what is in flight, or after nothing of the account
   * is in flight any more.
   */
  #checkProgress(): void {
    const { nowMs } = this.#timeline;
    for (const [{ hasLeft }, message] of this.#passed) this.check(hasLeft, () => message);
    this.#passed.clear();
    const firsts = this.queue.firsts();
    for (const first of firsts) {
      const sinceMs = this.#ready.get(first);
      if (!this.#isReady(first)) this.#ready.delete(first);
      else if (sinceMs === undefined) this.#ready.set(first, nowMs);
      else
        this.check(
          nowMs - sinceMs <= admittedWithinMs,
          () =>
            `a request of account ${first.request.account.id}, key ${first.request.key.row.id} has waited at ${first.process.name} since ${first.atMs}, and nothing has been in its way since ${sinceMs}`,
        );
    }
    if (firsts.length > 0 && this.#lives().length > 1)
      this.#journey.met('a request that waited at one of several nodes was admitted');
  }

  #isReady({ request: { account, key, amount } }: Arrival): boolean {
    if (!this.#lives().every(({ process }) => this.#isCalm(process))) return false;
    const subjects = [`account ${account.id}`, `key ${key.row.id}`] as const;
    return subjects.every((subject) => {
      if (this.#claims.heldOf(subject) === 0n) return true;
      const left = this.#claims.leftOf(subject);
      // What is left below a limit that starts again each day is known to no one but the node.
      if (left === null) return subject === `key ${key.row.id}` && key.limit === null;
      return left - this.#claims.takenOf(subject) >= amount;
    });
  }

  /** No request is admitted ahead of one that waits at the same node and arrived earlier. */
  #checkTurn(arrival: Arrival): void {
    const { request, process, atMs } = arrival;
    for (const passed of this.queue.passedBy(arrival)) {
      // One node knows earlier than another that there is no limit to wait for any more.
      const changedMs = this.#limitChangedMs.get(passed.request.key.row.id) ?? Number.NEGATIVE_INFINITY;
      if (this.#timeline.nowMs - changedMs <= knownWithinMs) continue;
      this.#passed.set(
        passed,
        `${process.name} admits a request of account ${request.account.id}, key ${request.key.row.id}, of ${atMs} ahead of one of key ${passed.request.key.row.id}, of ${passed.atMs}`,
      );
    }
  }

  /**
   * Whether its node could query the database, and all nodes knew each other, for longer than they
   * need for any operation.
   */
  #isCalm(process: SimProcess): boolean {
    const life = this.#lives().find((one) => one.process === process);
    const sinceMs = Math.max(life?.link.calmSinceMs ?? Number.POSITIVE_INFINITY, this.#strangeMs);
    return this.#timeline.nowMs - sinceMs > calmAfterMs;
  }

  #checkAdmission(subject: Subject, amount: bigint): void {
    this.#claims.endExcuse(subject, this.#nowMs);
    const largest = this.#largest.get(subject) ?? 0n;
    this.#largest.set(subject, largest > amount ? largest : amount);
    const left = this.#claims.leftOf(subject);
    if (left === null) return;
    const slack = this.#claims.excusedOf(subject);
    const taken = this.#claims.takenOf(subject);
    const held = this.#claims.heldOf(subject);
    const pending = taken - held;
    const fits = left - taken + slack >= amount;
    if (!fits) this.#journey.met('a request was admitted alone, above the remaining credit');
    // The floor, and the settled figures: an account without credit or a key at its limit admits
    // nothing.
    const isSettled = subject.startsWith('account') ? left - pending >= 0n : left - pending > 0n;
    this.check(
      fits || (held <= slack && (isSettled || slack > 0n)),
      () =>
        `admitted beside others: ${subject} has ${left} left, ${held} in flight and ${pending} charged, for ${amount}, the tolerance is ${slack}`,
    );
  }

  onDeath(life: Life): void {
    this.#claims.onDeath(life, this.#nowMs);
  }

  isOnRecord(requestId: string): boolean {
    return this.#audit.recordsOf(requestId).length > 0;
  }

  /**
   * A client received the end of its response. Where the database makes a settlement durable, it
   * has it by now.
   */
  onResponse(view: ClientView, { ack, kind }: Pick<Plan, 'ack' | 'kind'>, errorType: string | null): void {
    // Elsewhere a charge is sometimes given up, which cannot be seen from here.
    if (kind === 'tight' && errorType === 'insufficient_credits')
      this.#checkRejection(view, `account ${view.accountId}`);
    if (kind === 'tight' && errorType === 'key_limit_exceeded')
      this.#checkRejection(view, `key ${view.keyId}`);
    if (ack === 'journal' || view.end !== 'complete') return;
    const [row] = this.#audit.recordsOf(view.id);
    this.check(row?.cost === view.cost, () => `${view.id} is complete and not in the database`);
    this.#journey.met('a settlement was committed before its response was complete, as is configured');
  }

  /** Whether the account had so much credit in all at an instant of virtual time, or since. */
  hadCredits(accountId: number, amount: bigint, sinceMs: number): boolean {
    const had = this.#credits.get(accountId) ?? [];
    if (amount === 0n && (had[0]?.sinceMs ?? Number.POSITIVE_INFINITY) >= sinceMs) return true;
    return had.some(
      (one, at) => one.amount === amount && (had[at + 1]?.sinceMs ?? Number.POSITIVE_INFINITY) >= sinceMs,
    );
  }

  /** Everything is over: what clients received is in the ledger. */
  atEnd(): void {
    for (const view of this.#views.values()) {
      const rows = this.#audit.recordsOf(view.id);
      const [row] = rows;
      this.check(rows.length <= 1, () => `${view.id} has ${rows.length} records`);
      if (view.end === 'complete') {
        this.check(row !== undefined, () => `${view.id} was complete and has no record`);
        this.check(
          row?.cost === view.cost,
          () => `the response of ${view.id} has ${view.cost}, billed ${row?.cost}`,
        );
      }
      if (view.end === 'failed' && !view.isUnrecorded)
        this.check((row?.cost ?? 0n) === 0n, () => `${view.id} failed and was billed ${row?.cost}`);
      if (row !== undefined) this.#noteRecord(view, row);
      if (row === undefined || row.cost === 0n) continue;
      this.check(row.account_id === view.accountId, () => `${view.id} was billed to another account`);
      if (view.end === 'left' && view.wasStreamed)
        this.#journey.met('a client that disconnected in the middle of a stream was billed');
    }
    this.#audit.atEnd();
  }

  #noteCredits(accountId: number, amount: bigint): void {
    const had = this.#credits.get(accountId) ?? [];
    this.#credits.set(accountId, had);
    if (had.at(-1)?.amount !== amount) had.push({ amount, sinceMs: this.#timeline.nowMs });
  }

  #noteRecord(view: ClientView, row: Tables['generation']): void {
    const { attempts = [] } = JSON.parse(row.detail) as { readonly attempts?: readonly object[] };
    if (view.end === 'complete' && attempts.length > 1)
      this.#journey.met('an upstream failed and another responded');
    // The failure record of a completed response, in place of a settlement that was given up.
    if (view.end === 'failed' && row.status === 500 && row.completion_tokens > 0)
      this.#journey.met('a settlement was neither journaled nor committed: the response was not completed');
  }
}

/** Every account and key whose money a transaction may have moved. */
function subjectsOf(tx: Transaction, fresh: readonly Tables['generation'][]): ReadonlySet<Subject> {
  const subjects = new Set<Subject>(fresh.map(({ key_id }) => `key ${key_id}` as const));
  for (const id of tx.written.get('account_balance')?.keys() ?? []) subjects.add(`account ${Number(id)}`);
  for (const key of tx.written.get('spend_share')?.keys() ?? []) subjects.add(subjectOf(key));
  for (const id of tx.written.get('api_key')?.keys() ?? []) subjects.add(`key ${Number(id)}`);
  for (const day of tx.written.get('key_usage_day')?.keys() ?? [])
    subjects.add(`key ${Number(day.split('/')[1])}`);
  return subjects;
}

/** What a share is of, by the key of its row. */
function subjectOf(shareKey: string): Subject {
  const [kind, id] = shareKey.split('/');
  return kind === '1' ? `account ${Number(id)}` : `key ${Number(id)}`;
}
