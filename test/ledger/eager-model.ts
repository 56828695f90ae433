import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { expireCredit } from '../../src/ledger/credit.ts';
import { openLedger } from './world.ts';

/** A lot of the model: what is left of it is known after every debit. */
interface ModelLot {
  readonly id: number;
  readonly expiresAtMs: number | null;
  remaining: bigint;
}

/**
 * The ledger as kept by hand: every debit is charged at once, to the lot that expires first, then
 * to the oldest.
 */
class EagerLedger {
  readonly lots: ModelLot[] = [];
  debt = 0n;
  expired = 0n;

  grant(amount: bigint, expiresAtMs: number | null): void {
    const lot = { id: this.lots.length + 1, expiresAtMs, remaining: amount };
    this.lots.push(lot);
    const paid = this.debt < amount ? this.debt : amount;
    lot.remaining -= paid;
    this.debt -= paid;
  }

  debit(amount: bigint): void {
    let rest = amount;
    for (const lot of this.#inOrder()) {
      const part = lot.remaining < rest ? lot.remaining : rest;
      lot.remaining -= part;
      rest -= part;
    }
    this.debt += rest;
  }

  expire(atMs: number): void {
    for (const lot of this.lots) {
      if (lot.expiresAtMs === null || lot.expiresAtMs > atMs) continue;
      this.expired += lot.remaining;
      lot.remaining = 0n;
    }
  }

  get balance(): bigint {
    return this.lots.reduce((sum, lot) => sum + lot.remaining, 0n) - this.debt;
  }

  #inOrder(): readonly ModelLot[] {
    const never = Number.POSITIVE_INFINITY;
    return this.lots.toSorted((a, b) => (a.expiresAtMs ?? never) - (b.expiresAtMs ?? never) || a.id - b.id);
  }
}

/** Small, fast and the same on every machine. */
function rng(seed: number): (sides: number) => number {
  let state = seed >>> 0;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

/**
 * Plays random grants, debits and expiries on the real ledger and on the model, and compares them
 * after every step.
 */
export async function play(
  t: TestContext,
  { rounds, seed }: { readonly rounds: number; readonly seed: number },
): Promise<{ readonly checkpoints: number; readonly expiries: number }> {
  const ledger = await openLedger(t);
  const roll = rng(seed);
  const model = new EagerLedger();
  const baseMs = ledger.clock.now();
  let nowMs = baseMs;
  let checkpoints = 0;
  let expiries = 0;
  for (let round = 0; round < rounds * 8; round += 1) {
    nowMs += roll(50);
    ledger.clock.freeze(nowMs);
    const what = roll(10);
    if (what < 3) {
      const amount = BigInt(1 + roll(500));
      const expiresAtMs = roll(3) === 0 ? null : nowMs + 1 + roll(400);
      await ledger.grant(amount, expiresAtMs === null ? {} : { expiresAtMs });
      model.grant(amount, expiresAtMs);
    } else if (what < 8) {
      const costs = Array.from({ length: 1 + roll(4) }, () => BigInt(1 + roll(120)));
      await ledger.settle(...costs.map((cost) => ledger.generation(cost)));
      for (const cost of costs) model.debit(cost);
    } else {
      expiries += await expireCredit(ledger.database, nowMs);
      model.expire(nowMs);
    }
    assert.equal((await ledger.money()).balance, model.balance, `after step ${round}`);
    checkpoints += 1;
  }
  const lost = (await ledger.entries()).filter(({ kind }) => kind === 'expiry');
  assert.equal(-lost.reduce((sum, { amount }) => sum + amount, 0n), model.expired);
  assert.deepEqual(await ledger.differences(), []);
  return { checkpoints, expiries };
}
