import type { KeyRestrictions } from '../../../src/accounts/keys-sql.ts';
import type { PriceVersion } from '../../../src/catalogue/prices-sql.ts';
import type { ChangeTopic } from '../../../src/store/changes.ts';

/**
 * The rows that the model of the store has, by table. Money is micro-won, instants epoch
 * milliseconds, days `YYYY-MM-DD`.
 */
export interface Tables {
  readonly account: { readonly id: number; readonly name: string };
  readonly account_balance: {
    readonly account_id: number;
    readonly credits: bigint;
    readonly usage: bigint;
    readonly lot_applied: bigint;
    readonly entries: number;
    readonly version: bigint;
    readonly expired_until: number | null;
  };
  readonly credit_lot: {
    readonly id: number;
    readonly account_id: number;
    readonly amount: bigint;
    readonly remaining: bigint;
    readonly expires_at: number | null;
    readonly granted_at: number;
  };
  readonly ledger: {
    readonly id: number;
    readonly account_id: number;
    readonly kind: number;
    readonly amount: bigint;
    /** 32 hex digits. */
    readonly generation_id: string | null;
    readonly key_id: number | null;
    readonly lot_id: number | null;
    readonly idempotency_key: string | null;
    readonly memo: string | null;
    readonly refund_of: string | null;
    readonly created_at: number;
  };
  readonly api_key: {
    readonly id: number;
    readonly hash: string;
    readonly account_id: number;
    readonly kind: number;
    readonly name: string;
    readonly label: string;
    readonly user_disabled: boolean;
    readonly admin_suspended: boolean;
    readonly revoked_at: number | null;
    readonly expires_at: number | null;
    readonly limit_micro: bigint | null;
    readonly limit_reset: number;
    readonly restrictions: KeyRestrictions | null;
    readonly created_at: number;
    readonly updated_at: number | null;
  };
  readonly key_directory: {
    readonly hash: string;
    readonly key_id: number;
    readonly account_id: number;
  };
  readonly key_usage_day: UsageRow;
  readonly app: { readonly account_id: number; readonly id: number };
  readonly generation: {
    readonly account_id: number;
    readonly id: string;
    readonly key_id: number;
    readonly created_at: number;
    readonly settled_at: number;
    readonly status: number;
    readonly error_type: string | null;
    readonly model: string | null;
    readonly provider: string | null;
    readonly finish_reason: string | null;
    readonly day: string;
    readonly cost: bigint;
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly price_version: number | null;
    readonly app_id: number;
    /** JSON text. */
    readonly detail: string;
  };
  readonly change_event: {
    readonly id: number;
    readonly topic: ChangeTopic;
    readonly subject: number;
    /** The number of its transaction. */
    readonly tx: number;
  };
  readonly gateway_node: {
    readonly id: number;
    readonly home: string;
    readonly address: string;
    readonly session: string;
    readonly process: string;
    readonly keeps_charges: boolean;
    readonly started_at: number;
    readonly seen_at: number;
    readonly knows: number;
    readonly edition: number | null;
    readonly differences: number | null;
  };
  readonly price_version: {
    readonly id: number;
    readonly model: string;
    readonly candidate: string;
    readonly prompt: bigint;
    readonly completion: bigint;
    readonly request: bigint;
    readonly cache_read: bigint;
    readonly cache_write: bigint;
    /** The whole version as the code reads it. */
    readonly version: PriceVersion;
  };
  readonly catalogue_edition: {
    readonly id: number;
    /** JSON text. */
    readonly offers: string;
    readonly published_at: number;
  };
  readonly spend_share: {
    readonly account_id: number;
    readonly kind: number;
    readonly subject: number;
    readonly node_id: number;
    readonly amount: bigint;
  };
}

/** What was used on one day by one key. */
interface UsageRow {
  readonly account_id: number;
  readonly key_id: number;
  readonly day: string;
  readonly cost: bigint;
  readonly returned: bigint;
  readonly requests: bigint;
  readonly prompt_tokens: bigint;
  readonly completion_tokens: bigint;
}

export type TableName = keyof Tables;

/** The names of all tables. */
export const tableNames: readonly TableName[] = [
  'account',
  'account_balance',
  'credit_lot',
  'ledger',
  'api_key',
  'key_directory',
  'key_usage_day',
  'app',
  'generation',
  'change_event',
  'gateway_node',
  'price_version',
  'catalogue_edition',
  'spend_share',
];
