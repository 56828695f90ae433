import type { CallOf } from '../api/client.ts';
import { readQuery } from '../api/query.ts';

/** The reads of credit that owners have of their account, and operators of any. */
type OwnName = `GET /dashboard/api/${'lots' | 'balance' | 'statement'}`;

/** A read of the own account, or the same of the account with this id for operators. */
export function accountQuery<Name extends OwnName>(
  name: Name,
  account: string | undefined,
  call: CallOf<Name>,
) {
  // The rows of accounts are made of those of owners: `src/pages/console/account-views.ts`.
  if (account === undefined) return readQuery(name, call);
  const path = name.replace('/dashboard/api/', '/console/api/accounts/{account}/') as Name;
  return readQuery(path, { ...call, params: { account } } as CallOf<Name>);
}
