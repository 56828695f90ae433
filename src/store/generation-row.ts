import { column, nullable, number, type RowOf, recordOf, uuid } from './record.ts';

/** The columns of a record, as it is read. */
export const generations = recordOf({
  /** 32 hex digits. */
  uuid: uuid('id'),
  accountId: number('account_id'),
  keyId: number('key_id'),
  createdAtMs: column<number>('created_at'),
  settledAtMs: column<number>('settled_at'),
  /** The Seoul day of `settledAtMs`: the day the debit belongs to (spec:money/7.2). */
  day: column<number>("day - date '1970-01-01'"),
  /** The HTTP status that the client received. */
  status: column<number>('status'),
  errorType: column<string | null>('error_type'),
  model: column<string | null>('model'),
  provider: column<string | null>('provider'),
  finishReason: column<string | null>('finish_reason'),
  promptTokens: column<number>('prompt_tokens'),
  completionTokens: column<number>('completion_tokens'),
  /** Micro-won; 0 for a request that is not billed. */
  cost: column<bigint>('cost'),
  priceVersion: nullable(number('price_version')),
  /** The rest of the record as JSON text. */
  detail: column<string>('detail::text'),
});

/** The record of a request that has ended. */
export type GenerationRow = RowOf<typeof generations>;
