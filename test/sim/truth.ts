import type { InferenceParts } from '../../src/inference/inference.ts';
import { seoulDayAt } from '../../src/time/period.ts';
import type { SimGateway } from './gateway.ts';
import { type Journey, Violation } from './journey.ts';
import type { Tables } from './model/tables.ts';
import type { Store, Transaction } from './model/transactions.ts';
import type { SimProcess } from './process.ts';
import type { Told } from './told.ts';

/** A life of a gateway, as far as truth is concerned. */
export interface Life {
  readonly process: SimProcess;
  gateway: SimGateway | null;
}

/** What is charged at one price, micro-won for each prompt and completion token. */
export interface Rates {
  readonly prompt: bigint;
  readonly completion: bigint;
}

/** A request that is about to be counted. */
export type Admission = Parameters<InferenceParts['place']>[0];

type Subject = `account ${number}` | `key ${number}`;

const lostMs = 5_000;
/** How long who asks for shares waits for them. */
const patienceMs = 700;

/** Looks at everything from above, where nothing is late and nothing is lost, and says when what is promised does not hold. */
export class Truth {
  readonly #store: Store;
  readonly #journey: Journey;
  readonly #lives: () => readonly Life[];
  readonly #told: ReadonlyMap<string, Told>;
  readonly #rates: ReadonlyMap<number, Rates>;
  readonly #floor: bigint;
  readonly #sums = new Map<number, { amount: bigint; entries: number }>();
  /** Settlements that are committed and that their process has not heard of, by process and generation. */
  readonly #unheard = new Map<SimProcess, Map<string, { accountId: number; keyId: number; cost: bigint }>>();
  /** What may be spent beyond a floor or limit, since a node that had it died, or was taken for lost. */
  readonly #excused = new Map<Subject, bigint>();
  readonly #excusedOf = new WeakMap<SimProcess, Map<Subject, bigint>>();
  /** The largest estimate so far. */
  readonly #largest = new Map<Subject, bigint>();
  readonly #pleas = new Map<string, { readonly process: SimProcess; readonly atMs: number }>();
  #checks = 0;

  constructor(parts: {
    readonly store: Store;
    readonly journey: Journey;
    readonly lives: () => readonly Life[];
    readonly told: ReadonlyMap<string, Told>;
    readonly rates: ReadonlyMap<number, Rates>;
    readonly floor: bigint;
  }) {
    this.#store = parts.store;
    this.#journey = parts.journey;
    this.#lives = parts.lives;
    this.#told = parts.told;
    this.#rates = parts.rates;
    this.#floor = parts.floor;
  }

  /** How many times something was compared. */
  get checks(): number {
    return this.#checks;
  }

  /** Fails the simulation unless it holds. */
  hold(holds: boolean, says: () => string): void {
    this.#checks += 1;
    if (!holds) throw new Violation(says());
  }

  /** Every commit leaves books that agree. */
  onCommit(tx: Transaction, process: SimProcess, batch: readonly string[]): void {
    const entries = [...(tx.written.get('ledger')?.values() ?? [])] as Tables['ledger'][];
    for (const entry of entries) {
      const sum = this.#sums.get(entry.account_id) ?? { amount: 0n, entries: 0 };
      this.#sums.set(entry.account_id, { amount: sum.amount + entry.amount, entries: sum.entries + 1 });
    }
    for (const key of tx.written.get('account_balance')?.keys() ?? []) {
      const row = this.#store.tables.account_balance.get(key);
      const sum = this.#sums.get(Number(key)) ?? { amount: 0n, entries: 0 };
      this.hold(
        row !== undefined && row.credits - row.usage === sum.amount && row.entries === sum.entries,
        () => `account ${key}: the entries add up to ${sum.amount}, the balance is another`,
      );
    }
    const fresh = [...(tx.written.get('generation')?.keys() ?? [])].flatMap((key) => {
      const row = this.#store.tables.generation.get(key);
      return row === undefined ? [] : [row];
    });
    const unheard = this.#unheard.get(process) ?? new Map();
    this.#unheard.set(process, unheard);
    for (const row of fresh) {
      this.#settled(row, entries.filter((entry) => entry.generation_id === row.id).length);
      if (process.isAlive)
        unheard.set(row.id, { accountId: row.account_id, keyId: row.key_id, cost: row.cost });
    }
    this.#heedPleas(tx, process, entries.length > 0);
    const usage = entries.filter((entry) => entry.generation_id !== null).length;
    this.hold(usage === fresh.filter((row) => row.cost > 0n).length, () => 'an entry without its generation');
    if (batch.length > fresh.length) {
      const isServing = this.#lives().some((life) => life.process === process && life.gateway !== null);
      this.#journey.met(
        isServing
          ? 'a settlement tried again found itself settled'
          : 'a replay of the journal found a row settled',
      );
    }
  }

  /** Who asks the others to yield is helped when another then gives back what it had. */
  #heedPleas(tx: Transaction, process: SimProcess, isSettlement: boolean): void {
    for (const change of (tx.written.get('change_event')?.values() ?? []) as Iterable<Tables['change_event']>)
      if (change.topic.startsWith('share-of-'))
        this.#pleas.set(`${change.topic === 'share-of-account' ? 1 : 2}/${change.subject}`, {
          process,
          atMs: tx.nowMs,
        });
    if (isSettlement) return;
    for (const key of tx.written.get('spend_share')?.keys() ?? []) {
      const subject = key.slice(0, key.lastIndexOf('/'));
      const asker = this.#pleas.get(subject);
      if (asker === undefined || asker.process === process || tx.nowMs - asker.atMs > patienceMs) continue;
      this.#pleas.delete(subject);
      this.#journey.met('a plea for shares was yielded to');
    }
  }

  onHeard(process: SimProcess, batch: readonly string[]): void {
    for (const id of batch) this.#unheard.get(process)?.delete(id);
  }

  /**
   * A request is about to be counted. Beside other nodes shares may exceed what is left by the estimate of one request, and no more
   * (src/nodes/README.md); a node that is and was alone admits nothing once the floor or limit is reached.
   */
  onAdmit({ account, key, amount }: Admission, nowMs: number): void {
    this.noteLost(nowMs);
    const balance = this.#store.tables.account_balance.get(String(account.id));
    if (balance === undefined) throw new Violation(`a request of account ${account.id}, which there is not`);
    const isAlone = this.#lives().length === 1;
    const slackOf = (subject: Subject): bigint => {
      const largest = this.#largest.get(subject) ?? 0n;
      this.#largest.set(subject, largest > amount ? largest : amount);
      const beside = isAlone || largest < amount ? 0n : largest - amount;
      return beside + (this.#excused.get(subject) ?? 0n);
    };
    const left = balance.credits - balance.usage - this.#takenOf(`account ${account.id}`);
    const slack = slackOf(`account ${account.id}`);
    this.hold(
      left + this.#floor + slack >= 0n,
      () => `admitted below the floor: account ${account.id} has ${left} left, and ${slack} of slack`,
    );
    const row = this.#store.tables.api_key.get(String(key.row.id));
    if (row?.limit_micro == null || row.limit_reset !== 0) return;
    const limit = row.limit_micro;
    let used = this.#takenOf(`key ${row.id}`);
    for (const day of this.#store.tables.key_usage_day.values()) if (day.of === row.id) used += day.cost;
    const beyond = slackOf(`key ${row.id}`);
    this.hold(
      used < limit + beyond || (beyond > 0n && used === limit + beyond),
      () => `admitted at the limit: key ${row.id} has ${used} used of ${limit}, and ${beyond} of slack`,
    );
  }

  /** A process is about to die: what it charged and had not committed is charged when its journal is replayed. */
  onDeath(life: Life): void {
    for (const [subject, amount] of exposuresOf(life, 'pending')) this.#excuse(subject, amount);
    this.#unheard.delete(life.process);
  }

  /** The shares of who is taken for lost are not counted by the others (src/nodes/README.md). */
  noteLost(nowMs: number): void {
    for (const life of this.#lives()) {
      if (life.gateway === null || !life.process.isAlive) continue;
      const node = this.#store.tables.gateway_node.get(String(life.gateway.books.nodes.id));
      if (node !== undefined && nowMs - node.seen_at < lostMs - 100) continue;
      const already = this.#excusedOf.get(life.process) ?? new Map<Subject, bigint>();
      this.#excusedOf.set(life.process, already);
      for (const [subject, amount] of exposuresOf(life, 'all')) {
        const before = already.get(subject) ?? 0n;
        if (amount <= before) continue;
        this.#excuse(subject, amount - before);
        already.set(subject, amount);
      }
    }
  }

  /** Everything is over: what clients saw is what is in the books. */
  atEnd(): void {
    const byRequest = new Map<string, readonly Tables['generation'][]>();
    for (const row of this.#store.tables.generation.values()) {
      const id = requestOf(row.detail);
      byRequest.set(id, [...(byRequest.get(id) ?? []), row]);
    }
    for (const told of this.#told.values()) {
      const rows = byRequest.get(told.id) ?? [];
      const [row] = rows;
      this.hold(rows.length <= 1, () => `${told.id} has ${rows.length} records`);
      if (told.end === 'complete') {
        this.hold(row !== undefined, () => `${told.id} was complete and is not on record`);
        this.hold(row?.cost === told.cost, () => `${told.id} was told ${told.cost} and billed ${row?.cost}`);
      }
      if (told.end === 'failed' && !told.isUnsaid)
        this.hold((row?.cost ?? 0n) === 0n, () => `${told.id} failed and was billed ${row?.cost}`);
      if (row !== undefined) this.#noteRecord(told, row);
      if (row === undefined || row.cost === 0n) continue;
      this.hold(row.account_id === told.accountId, () => `${told.id} was billed to another account`);
      if (told.end === 'left' && told.wasStreamed)
        this.#journey.met('a client that left in the middle of a stream was billed');
    }
  }

  #noteRecord(told: Told, row: Tables['generation']): void {
    const { attempts = [] } = JSON.parse(row.detail) as { readonly attempts?: readonly object[] };
    if (told.end === 'complete' && attempts.length > 1)
      this.#journey.met('an upstream failed and another answered');
    // The record of what was answered, put in the place of a settlement that was given up.
    if (told.end === 'failed' && row.status === 500 && row.completion_tokens > 0)
      this.#journey.met('a settlement was neither journaled nor committed: the answer was not completed');
  }

  #settled(row: Tables['generation'], entries: number): void {
    this.hold(
      entries === (row.cost > 0n ? 1 : 0),
      () => `a generation of ${row.cost} has ${entries} entries`,
    );
    const key = this.#store.tables.api_key.get(String(row.key_id));
    this.hold(key?.account_id === row.account_id, () => `a generation of the key of another account`);
    const told = this.#told.get(requestOf(row.detail));
    this.hold(told !== undefined && told.accountId === row.account_id, () => 'a generation of nobody');
    if (row.cost === 0n) return;
    const rates = row.price_version === null ? undefined : this.#rates.get(row.price_version);
    const cost =
      rates === undefined
        ? null
        : rates.prompt * BigInt(row.prompt_tokens) + rates.completion * BigInt(row.completion_tokens);
    this.hold(cost === row.cost, () => `${told?.id} cost ${row.cost} instead of ${cost}`);
  }

  #takenOf(subject: Subject): bigint {
    let taken = 0n;
    for (const life of this.#lives()) {
      if (!life.process.isAlive) continue;
      taken += exposuresOf(life, 'all').get(subject) ?? 0n;
      for (const row of this.#unheard.get(life.process)?.values() ?? [])
        if (subject === `account ${row.accountId}` || subject === `key ${row.keyId}`) taken -= row.cost;
    }
    return taken;
  }

  #excuse(subject: Subject, amount: bigint): void {
    this.#excused.set(subject, (this.#excused.get(subject) ?? 0n) + amount);
  }
}

function requestOf(detail: string): string {
  return (JSON.parse(detail) as { readonly request_id: string }).request_id;
}

function exposuresOf({ gateway }: Life, part: 'all' | 'pending'): ReadonlyMap<Subject, bigint> {
  const exposures = new Map<Subject, bigint>();
  if (gateway === null) return exposures;
  for (const account of gateway.books.accounts.all()) {
    const held = account.balance - account.balanceAfterHolds;
    exposures.set(`account ${account.id}`, account.exposure - (part === 'all' ? 0n : held));
  }
  const today = seoulDayAt(0);
  for (const key of gateway.books.keys.all()) {
    const held = key.usageWithHoldsAt(today) - key.usageAt(today);
    exposures.set(`key ${key.row.id}`, key.exposure - (part === 'all' ? 0n : held));
  }
  return exposures;
}
