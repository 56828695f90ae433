import { numbersOf } from './arrays.ts';
import { dashed, Selection, type Statement } from './statement.ts';
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

const records = new Selection({
  uuid: 'id',
  accountId: 'account_id',
  keyId: 'key_id',
  createdAtMs: 'created_at',
  settledAtMs: 'settled_at',
  day: "day - date '1970-01-01'",
  status: 'status',
  errorType: 'error_type',
  model: 'model',
  provider: 'provider',
  finishReason: 'finish_reason',
  promptTokens: 'prompt_tokens',
  completionTokens: 'completion_tokens',
  cost: 'cost',
  priceVersion: 'price_version',
  detail: 'detail::text',
});

/** The statements that read records, and what was given back of them. */
export const recordStatements: readonly Statement[] = [
  {
    text: `SELECT ${records.text} FROM generation WHERE account_id = $1 AND id = $2`,
    run: (tx, [account, id]) => {
      const row = tx.get('generation', `${String(account)}/${hexOf(id)}`);
      if (row === undefined) return [];
      return [
        records.of(row, {
          uuid: dashed(row.id),
          accountId: BigInt(row.account_id),
          keyId: BigInt(row.key_id),
          priceVersion: row.price_version === null ? null : BigInt(row.price_version),
          day: Date.parse(row.day) / dayMs,
          detail: row.detail,
        }),
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
