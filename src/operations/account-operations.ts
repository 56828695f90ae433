import { type AccountRow, createAccount, readAccount, readAccounts } from '../accounts/accounts.ts';
import { audited } from './audited.ts';
import type { OperationsContext } from './operations-context.ts';

/** Creates and reads accounts. */
export function accountOperations(context: OperationsContext) {
  const { database, clock } = context;
  return {
    /** Returns the id. */
    createAccount: (account: { readonly name: string; readonly email: string | null }): Promise<number> =>
      createAccount(
        audited<number>(context, (accountId) => ({ act: 'account.create', accountId })),
        { ...account, createdAtMs: clock.now() },
      ),

    readAccount: (accountId: number): Promise<AccountRow | null> => readAccount(database, accountId),

    readAccounts: (): Promise<readonly AccountRow[]> => readAccounts(database),
  };
}
