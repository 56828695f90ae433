import { numbersOf } from './arrays.ts';
import type { Statement } from './statement.ts';
import { dashed } from './statement.ts';
import type { Transaction } from './transactions.ts';

const dayMs = 86_400_000;

function hexOf(uuid: unknown): string {
  return String(uuid).replaceAll('-', '');
}

function costsOf(tx: Transaction, id: unknown): readonly { account_id: bigint; cost: bigint }[] {
  return [...tx.rows('generation')]
    .filter(([, row]) => row.id === hexOf(id))
    .map(([, { account_id, cost }]) => ({ account_id: BigInt(account_id), cost }));
}

/** The statements that read records, and what was given back of them. */
export const recordStatements: readonly Statement[] = [
  {
    text: "SELECT account_id, id, key_id, created_at, settled_at, day - date '1970-01-01' AS day_number, status, error_type, model, provider, finish_reason, prompt_tokens, completion_tokens, cost, price_version, detail::text AS detail FROM generation WHERE account_id = $1 AND id = $2",
    run: (tx, [account, id]) => {
      const row = tx.get('generation', `${String(account)}/${hexOf(id)}`);
      if (row === undefined) return [];
      const { account_id, key_id, price_version, day, ...rest } = row;
      return [
        {
          ...rest,
          id: dashed(row.id),
          account_id: BigInt(account_id),
          key_id: BigInt(key_id),
          price_version: price_version === null ? null : BigInt(price_version),
          day_number: Date.parse(day) / dayMs,
        },
      ];
    },
  },
  {
    text: 'SELECT account_id, cost FROM generation WHERE account_id = ANY ($2::bigint[]) AND id = $1::uuid',
    run: (tx, [id, accounts]) => {
      const among = new Set(numbersOf(accounts));
      return costsOf(tx, id).filter(({ account_id }) => among.has(Number(account_id)));
    },
  },
  {
    text: 'SELECT coalesce(sum(amount), 0)::bigint AS amount FROM ledger WHERE account_id = $1 AND refund_of = $2::uuid',
    run: (tx, [account, id]) => {
      let amount = 0n;
      for (const [, row] of tx.rows('ledger'))
        if (row.account_id === Number(account) && row.refund_of === hexOf(id)) amount += row.amount;
      return [{ amount }];
    },
  },
];
