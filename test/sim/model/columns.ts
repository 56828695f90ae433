import { type TableName, type Tables, tableNames } from './tables.ts';

/** What the model keeps of each table, but for instants of the server. */
export const modelColumns: { readonly [Name in TableName]: readonly (keyof Tables[Name] & string)[] } = {
  account: ['id', 'name'],
  account_balance: ['account_id', 'credits', 'usage', 'lot_applied', 'entries', 'version', 'expired_until'],
  credit_lot: ['id', 'account_id', 'amount', 'remaining', 'expires_at', 'granted_at'],
  ledger: [
    'id',
    'account_id',
    'kind',
    'amount',
    'generation_id',
    'key_id',
    'lot_id',
    'idempotency_key',
    'memo',
    'refund_of',
    'created_at',
  ],
  api_key: [
    'id',
    'hash',
    'account_id',
    'kind',
    'name',
    'label',
    'user_disabled',
    'admin_suspended',
    'revoked_at',
    'expires_at',
    'limit_micro',
    'limit_reset',
    'restrictions',
    'created_at',
    'updated_at',
  ],
  key_directory: ['hash', 'key_id', 'account_id'],
  key_usage_day: [
    'account_id',
    'key_id',
    'day',
    'cost',
    'returned',
    'requests',
    'prompt_tokens',
    'completion_tokens',
  ],
  app: ['account_id', 'id'],
  generation: [
    'account_id',
    'id',
    'key_id',
    'status',
    'day',
    'cost',
    'prompt_tokens',
    'completion_tokens',
    'price_version',
    'app_id',
    'detail',
  ],
  change_event: ['id', 'topic', 'subject'],
  gateway_node: [
    'id',
    'home',
    'address',
    'session',
    'process',
    'keeps_charges',
    'knows',
    'edition',
    'differences',
  ],
  price_version: ['id', 'model', 'candidate', 'prompt', 'completion', 'request', 'cache_read', 'cache_write'],
  catalogue_edition: ['id'],
  spend_share: ['account_id', 'kind', 'subject', 'node_id', 'amount'],
};

/** The same columns as they are queried from PostgreSQL. */
export const columnsOf = Object.fromEntries(
  tableNames.map((name) => {
    const columns = (modelColumns[name] as readonly string[]).map((column) =>
      column === 'detail' ? 'detail::text' : column,
    );
    return [name, columns.join(', ')];
  }),
) as Readonly<Record<TableName, string>>;
