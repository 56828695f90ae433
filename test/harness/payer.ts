import { hashKey, type KeyHash } from '../../src/accounts/api-key.ts';
import { krwFromDecimal } from '../../src/money/krw.ts';
import { createOperatorService, type OperatorService } from '../../src/operations/operator-service.ts';
import type { Database } from '../../src/store/database.ts';
import { type Clock, systemClock } from '../../src/time/clock.ts';

/** An inference key. */
export interface PayerKey {
  readonly key: string;
  readonly hash: KeyHash;
}

/** An account that pays for requests, with its keys. */
export interface Payer {
  readonly accountId: number;
  readonly grantedMicro: bigint;
  readonly keys: readonly PayerKey[];
}

/** The acts of an operator on a database, which stays the caller's to close. */
export function operatorOn(database: Database, clock: Clock = systemClock): OperatorService {
  return createOperatorService(database, { clock, keyPrefix: 'sk-naru-', close: async () => {} });
}

/** An account with credit in won and so many inference keys without a limit. */
export async function createPayer(
  operator: OperatorService,
  credit: string,
  keyCount: number,
): Promise<Payer> {
  const accountId = await operator.createAccount({ name: 'payer', email: null });
  const amount = krwFromDecimal(credit);
  if (amount === null) throw new Error(`${credit} is no amount`);
  const grant = { accountId, kind: 'topup', amount, expiresAtMs: null } as const;
  await operator.grantCredit({ ...grant, idempotencyKey: null, memo: null });
  const keys: PayerKey[] = [];
  for (let made = 0; made < keyCount; made += 1)
    keys.push(await createKey(operator, accountId, `key ${made}`));
  return { accountId, grantedMicro: amount, keys };
}

/** An account with credit in won and one inference key. */
export async function createOnePayer(
  operator: OperatorService,
  credit: string,
): Promise<PayerKey & { readonly accountId: number }> {
  const { accountId } = await createPayer(operator, credit, 0);
  return { accountId, ...(await createKey(operator, accountId, 'key')) };
}

async function createKey(operator: OperatorService, accountId: number, name: string): Promise<PayerKey> {
  const order = { accountId, kind: 'inference', name, limit: null } as const;
  const { plaintext } = await operator.createKey({ ...order, limitReset: 'never', expiresAtMs: null });
  return { key: plaintext, hash: hashKey(plaintext) };
}
