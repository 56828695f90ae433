import { revokeKey } from '../../src/keys/keys.ts';
import { grantCredit } from '../../src/ledger/credit.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { Database } from '../../src/store/database.ts';
import type { Tables } from './model/tables.ts';
import type { Transaction } from './model/transactions.ts';
import { Link } from './network.ts';
import { SimProcess } from './process.ts';
import type { Holder, Simulation } from './simulation.ts';
import type { Told } from './told.ts';
import { keyOf } from './world.ts';

const noticedWithinMs = 1_000;

/** The operator: adds credit, revokes keys and makes new ones, with the commands' own functions and a connection of his own. */
export class Operator {
  readonly #simulation: Simulation;
  readonly #process: SimProcess;
  readonly #database: Database;
  #grants = 0;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
    this.#process = new SimProcess('operator', simulation.timeline, { offsetMs: 0 });
    this.#database = new Database({}, 8, null, simulation.server.meansOf(this.#process, new Link()));
  }

  begin(): void {
    this.#work().catch(() => {});
  }

  onCommit(tx: Transaction, process: SimProcess): void {
    const { holders, timeline, told, journey } = this.#simulation;
    if (process !== this.#process) return;
    for (const row of (tx.written.get('api_key')?.values() ?? []) as Iterable<Tables['api_key']>) {
      if (row.revoked_at === null) continue;
      const holder = holders.find(({ keyId }) => keyId === row.id);
      if (holder === undefined || holder.revokedMs !== null) continue;
      holder.revokedMs = timeline.nowMs;
      if ([...told.values()].some(({ keyId, end }) => keyId === row.id && end === 'running'))
        journey.met('a key was revoked while a request of it was under way');
    }
  }

  /** What a client was told, beside what was allowed. */
  onAnswer(told: Told, errorType: string | null, { revokedMs }: Holder): void {
    const { journey, truth } = this.#simulation;
    const isLate = revokedMs !== null && told.sentMs > revokedMs + noticedWithinMs;
    if (isLate)
      truth.hold(told.status !== 200, () => `${told.id} was answered after the revocation of its key`);
    if (isLate && told.status === 401) journey.met('a request was refused because its key was revoked');
    if (errorType === 'insufficient_credits') journey.met('a request was refused at the floor');
    if (errorType === 'key_limit_exceeded') journey.met('a request was refused at the limit of its key');
    if (errorType === 'server') journey.met('a request was refused while the database was away');
  }

  async #work(): Promise<void> {
    const { simulation } = { simulation: this.#simulation };
    const { random, timeline } = simulation;
    for (const accountId of new Set(simulation.holders.map((holder) => holder.accountId)))
      await this.#grant(accountId, random.int(100, 1_500));
    while (!simulation.isEnding) {
      await timeline.pause(random.int(200, 2_500));
      const holder = random.pick(simulation.holders);
      if (random.inThousand(250)) await this.#replace(holder);
      else await this.#grant(holder.accountId, random.int(20, 300));
    }
    await this.#database.close();
    this.#process.die();
  }

  async #grant(accountId: number, won: number): Promise<void> {
    this.#grants += 1;
    const amount = krwOfMicro(BigInt(won) * 1_000_000n);
    const grant = { accountId, kind: 'topup' as const, amount, expiresAtMs: null, memo: null };
    this.#simulation.note(`operator grants ${won} to account ${accountId}`);
    // A command whose answer was lost is given again, with the key that makes it one.
    const idempotencyKey = `grant ${this.#grants}`;
    await this.#insist(() =>
      grantCredit(this.#database, { ...grant, idempotencyKey }, this.#process.clock.now()),
    );
  }

  async #replace({ number, accountId, revokedMs }: Holder): Promise<void> {
    if (revokedMs !== null) return;
    this.#simulation.note(`operator replaces key ${number}`);
    await this.#insist(() => revokeKey(this.#database, keyOf(number).hash, this.#process.clock.now()));
    await this.#database.transaction((sql) => this.#simulation.addKey(sql, accountId)).catch(() => {});
  }

  async #insist(work: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await work();
        return;
      } catch {
        await this.#simulation.timeline.pause(100);
      }
    }
  }
}
