import { useMemo } from 'react';
import { oneOf, type SearchSchema, text, useSearchParams } from '../app/search-params.ts';

/** The kinds of ledger entries; empty: all. */
export const ledgerKinds = ['', 'topup', 'bonus', 'usage', 'refund', 'expiry', 'adjustment'] as const;

/** The filters of a ledger as they stand in the URL. */
export interface LedgerSearch {
  readonly month: string;
  readonly kind: (typeof ledgerKinds)[number];
}
const schema: SearchSchema<LedgerSearch> = { month: text(), kind: oneOf(ledgerKinds, '') };

/** The filters of a ledger in the URL, and as the query of the API. */
export function useLedgerSearch() {
  const [search, change] = useSearchParams(schema);
  const query = useMemo(
    () => ({
      ...(/^\d{4}-\d{2}$/.test(search.month) ? { month: search.month } : {}),
      ...(search.kind === '' ? {} : { kind: search.kind }),
    }),
    [search],
  );
  return { search, change, query } as const;
}
