import { changeOwnKey, type KeyChange, revokeKey } from '../../src/accounts/keys.ts';
import { publishPrices } from '../../src/catalogue/publish.ts';
import { adjustCredit, type CorrectionOutcome, refundGeneration } from '../../src/ledger/corrections.ts';
import { grantCredit } from '../../src/ledger/credit.ts';
import { type Krw, krwOfMicro } from '../../src/money/krw.ts';
import { Database } from '../../src/store/database.ts';
import type { GenerationUuid } from '../../src/wire/ids/generation-id.ts';
import { parseGenerationId } from '../../src/wire/ids/generation-id.ts';
import type { ClientView } from './client-view.ts';
import type { Tables } from './model/tables.ts';
import type { Transaction } from './model/transactions.ts';
import { Link } from './network.ts';
import { SimProcess } from './process.ts';
import type { Holder, Simulation } from './simulation.ts';
import { beginningMs } from './time.ts';
import { keyOf } from './world.ts';

const noticedWithinMs = 1_000;

function krw(won: number): Krw {
  return krwOfMicro(BigInt(won) * 1_000_000n);
}

/**
 * The operator: moves credit, changes keys and creates new ones, with the commands' own functions
 * and a separate connection.
 */
export class Operator {
  readonly #simulation: Simulation;
  readonly #process: SimProcess;
  readonly #database: Database;
  #acts = 0;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
    this.#process = new SimProcess('operator', simulation.timeline, { offsetMs: 0 });
    this.#database = new Database({}, 8, null, simulation.server.meansOf(this.#process, new Link()));
  }

  begin(): void {
    this.#work().catch((error: unknown) => this.#simulation.fail(error));
    this.#publish().catch((error: unknown) => this.#simulation.fail(error));
  }

  /** Records when a key was revoked or disabled, and when it was enabled again. */
  onCommit(tx: Transaction, process: SimProcess): void {
    const { holders, timeline, views, journey } = this.#simulation;
    if (process !== this.#process) return;
    for (const row of (tx.written.get('api_key')?.values() ?? []) as Iterable<Tables['api_key']>) {
      const holder = holders.find(({ keyId }) => keyId === row.id);
      if (holder === undefined) continue;
      const isUnderWay = [...views.values()].some(({ keyId, end }) => keyId === row.id && end === 'running');
      if (row.limit_micro !== null && (holder.limit === null || row.limit_micro < holder.limit) && isUnderWay)
        journey.met('a limit was lowered while requests of its key were in flight');
      holder.limit = row.limit_micro;
      if (row.revoked_at !== null && !holder.isRevoked) {
        holder.isRevoked = true;
        if (isUnderWay) journey.met('a key was revoked while its request was in flight');
      }
      if (row.revoked_at === null && !row.user_disabled) holder.offMs = null;
      else holder.offMs ??= timeline.nowMs;
    }
  }

  /** What a client received, compared with what was allowed. */
  onResponse(view: ClientView, errorType: string | null, { offMs, isRevoked }: Holder): void {
    const { journey, truth } = this.#simulation;
    const isLate = offMs !== null && view.sentMs > offMs + noticedWithinMs;
    if (isLate)
      truth.check(view.status !== 200, () => `${view.id} got a response after the revocation of its key`);
    if (isLate && view.status === 401)
      journey.met(
        isRevoked
          ? 'a request was refused because its key was revoked'
          : 'a request was refused because its key was disabled',
      );
    if (view.wasExpired)
      truth.check(view.status !== 200, () => `${view.id} got a response after its key had expired`);
    if (errorType === 'expired_api_key') journey.met('a request was refused because its key had expired');
    if (errorType === 'insufficient_credits') journey.met('a request was refused at the floor');
    if (errorType === 'key_limit_exceeded') journey.met('a request was refused at the limit of its key');
    if (errorType === 'server') journey.met('a request was refused while the database was away');
  }

  async #work(): Promise<void> {
    const { simulation } = { simulation: this.#simulation };
    const { random, timeline, plan } = simulation;
    for (const accountId of new Set(simulation.holders.map((holder) => holder.accountId)))
      await this.#grant(accountId, random.int(...plan.firstGrantWon));
    while (!simulation.isEnding) {
      await timeline.pause(random.int(...plan.operatorRestsMs));
      const holder = random.pick(simulation.holders);
      const draw = random.int(0, 99);
      if (draw < 15) await this.#replace(holder);
      else if (draw < 29) await this.#refund();
      else if (draw < 37) await this.#switch(holder);
      else if (draw < 47) await this.#limit(holder);
      else if (draw < 53 && plan.takesAway) await this.#takeAway(holder.accountId, random.int(10, 200));
      else await this.#grant(holder.accountId, random.int(...plan.grantWon));
    }
    await this.#database.close();
    this.#process.die();
  }

  /** `naru models publish`, of one file or another. */
  async #publish(): Promise<void> {
    const { prices, timeline, configurations } = this.#simulation;
    for (;;) {
      await timeline.pause(prices.int(300, 6_000));
      if (this.#simulation.isEnding) return;
      const config = prices.pick(configurations);
      this.#simulation.note('operator publishes prices');
      const atMs = this.#process.clock.now();
      await this.#insist(() => publishPrices(this.#database, config, { atMs, announce: 'catalogue' }));
    }
  }

  async #grant(accountId: number, won: number): Promise<void> {
    const { random, plan } = this.#simulation;
    const nowMs = this.#process.clock.now();
    const isLasting = !plan.takesAway || random.inThousand(500);
    const expiresAtMs = isLasting ? null : nowMs + random.int(500, 8_000);
    this.#simulation.note(`operator grants ${won} to account ${accountId}`);
    // A command whose response was lost is repeated, with its idempotency key.
    const grant = { accountId, kind: 'topup' as const, amount: krw(won), expiresAtMs, memo: null };
    const idempotencyKey = this.#nextName('grant');
    await this.#insist(() => grantCredit(this.#database, { ...grant, idempotencyKey }, nowMs));
  }

  async #takeAway(accountId: number, won: number): Promise<void> {
    this.#simulation.note(`operator deducts ${won} from account ${accountId}`);
    const adjustment = {
      accountId,
      amount: krw(-won),
      reason: 'sim',
      idempotencyKey: this.#nextName('adjust'),
    };
    await this.#insist(() => adjustCredit(this.#database, adjustment, this.#process.clock.now()));
    this.#simulation.journey.met('credit was deducted');
  }

  async #refund(): Promise<void> {
    const { random, views, journey } = this.#simulation;
    const responded = [...views.values()].filter(({ end, cost }) => end === 'complete' && (cost ?? 0n) > 0n);
    if (responded.length === 0) return;
    const { id, generation } = random.pick(responded.slice(-2));
    const uuid = parseGenerationId(generation ?? '');
    if (uuid === null) return;
    const amount = random.inThousand(700) ? null : krw(random.int(1, 20));
    const toKeyLimit = random.inThousand(500);
    this.#simulation.note(`operator refunds ${id}${toKeyLimit ? ' to the limit of its key' : ''}`);
    const refund = {
      generation: uuid as GenerationUuid,
      amount,
      reason: 'sim',
      toKeyLimit,
      idempotencyKey: this.#nextName('refund'),
    };
    const outcome: CorrectionOutcome = await this.#insist(() =>
      refundGeneration(this.#database, refund, this.#process.clock.now()),
    );
    if (outcome.kind === 'done') journey.met('a response was refunded');
    if (outcome.kind === 'done' && toKeyLimit) journey.met('a refund was given back to the limit of its key');
    if (outcome.kind === 'too_much' && outcome.left === 0n)
      journey.met('a refund was refused because everything had been refunded');
  }

  async #replace({ number, accountId, isRevoked }: Holder): Promise<void> {
    if (isRevoked) return;
    this.#simulation.note(`operator replaces key ${number}`);
    await this.#insist(() => revokeKey(this.#database, keyOf(number).hash, this.#process.clock.now()));
    const nowMs = this.#process.clock.now() - beginningMs;
    await this.#database.transaction((sql) => this.#simulation.addKey(sql, accountId, nowMs)).catch(() => {});
  }

  /** Off, or on again. */
  async #switch(holder: Holder): Promise<void> {
    await this.#change(holder, { userDisabled: holder.offMs === null });
  }

  async #limit(holder: Holder): Promise<void> {
    const { random, plan } = this.#simulation;
    const raised = krw(random.int(...plan.limitWon) + Number((holder.limit ?? 0n) / 1_000_000n));
    const lowered = krw(random.int(...plan.limitWon));
    if (plan.takesAway) await this.#change(holder, { limitMicro: random.pick([raised, lowered, null]) });
    else if (holder.limit !== null) await this.#change(holder, { limitMicro: raised });
  }

  async #change({ number, accountId, isRevoked }: Holder, change: KeyChange): Promise<void> {
    if (isRevoked) return;
    this.#simulation.note(`operator changes key ${number}: ${Object.entries(change).join(' ')}`);
    const { hash } = keyOf(number);
    await this.#insist(() =>
      changeOwnKey(this.#database, accountId, hash, change, this.#process.clock.now()),
    );
  }

  #nextName(act: string): string {
    this.#acts += 1;
    return `${act} ${this.#acts}`;
  }

  async #insist<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch {
        await this.#simulation.timeline.pause(100);
      }
    }
  }
}
