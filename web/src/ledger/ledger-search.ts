import { useMemo } from 'react';
import { oneOf, type Param, type SearchSchema, useSearchParams } from '../app/search-params.ts';
import { startOfDay } from '../format/time.ts';

/** The kinds of ledger entries; empty: all. */
export const ledgerKinds = ['', 'topup', 'bonus', 'usage', 'refund', 'expiry', 'adjustment'] as const;

/** The filters of a ledger as they stand in the URL. */
export interface LedgerSearch {
  readonly month: string;
  readonly kind: (typeof ledgerKinds)[number];
}
/** A Seoul month, `YYYY-MM`; empty: all. */
const month: Param<string> = {
  read: ([first = '']) => (startOfDay(`${first}-01`) === null ? '' : first),
  write: (value) => (value === '' ? [] : [value]),
};
const schema: SearchSchema<LedgerSearch> = { month, kind: oneOf(ledgerKinds, '') };

/** The filters of a ledger in the URL, and as the query of the API. */
export function useLedgerSearch() {
  const [search, change] = useSearchParams(schema);
  const query = useMemo(
    () => ({
      ...(search.month === '' ? {} : { month: search.month }),
      ...(search.kind === '' ? {} : { kind: search.kind }),
    }),
    [search],
  );
  return { search, change, query } as const;
}
