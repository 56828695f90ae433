import type { CallOf, ReadName } from '../api/client.ts';
import { readQuery } from '../api/query.ts';
import { type Dimension, dimensions } from './usage-search.ts';

/**
 * Whose usage a view shows: that of the owner who has signed in, or in the console that of one
 * account (its id) or of all.
 */
export type UsageSource = 'own' | 'all' | { readonly account: string };

type Kind = 'totals' | 'groups' | 'series' | 'latency' | 'tags';
type OwnName<Of extends Kind> = `GET /dashboard/api/usage/${Of}` & ReadName;
/** The parameters of a question about usage. */
export type UsageParams<Of extends Kind> = NonNullable<CallOf<OwnName<Of>>['query']>;

/** The dimensions of a source: keys, apps, end users and tags belong to accounts. */
export function dimensionsOf(source: UsageSource): readonly Dimension[] {
  const ofAccounts: readonly Dimension[] = ['key', 'app', 'user', 'tag'];
  return source === 'all' ? dimensions.filter((one) => !ofAccounts.includes(one)) : dimensions;
}

/** A question about the usage of a source, as options of `useQuery`. */
export function usageQuery<Of extends Kind>(source: UsageSource, of: Of, params: UsageParams<Of>) {
  // The rows of all sources are made of one table: `src/pages/usage-rows.ts`.
  const name = nameOf(source, of) as OwnName<Of>;
  const call = (typeof source === 'object'
    ? { params: source, query: params }
    : { query: params }) as unknown as CallOf<OwnName<Of>>;
  return readQuery(name, call);
}

function nameOf(source: UsageSource, of: Kind): ReadName {
  if (source === 'own') return `GET /dashboard/api/usage/${of}`;
  // Of all accounts together there are no tags (`dimensionsOf`).
  if (source === 'all') return `GET /console/api/usage/${of}` as ReadName;
  return `GET /console/api/accounts/{account}/usage/${of}`;
}
