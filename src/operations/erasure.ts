import { lockAccount } from '../accounts/accounts-sql.ts';
import { parseEmail } from '../identity/email.ts';
import { deleteOwner, findOwnerOfAccount } from '../identity/owners-sql.ts';
import { audited } from './audited.ts';
import {
  eraseTexts,
  type PersonalData,
  readAddresses,
  readPersonalData,
  replaceAddress,
} from './erasure-sql.ts';
import type { OperationsContext } from './operations-context.ts';

/** What an erasure removed; or why it did nothing. */
export type ErasureOutcome =
  | { readonly kind: 'done'; readonly data: PersonalData }
  | { readonly kind: 'unchanged' | 'not_found' | 'open' };

/** Shows and erases the data of the person of an account. */
export function erasureOperations(context: OperationsContext) {
  return {
    /** What an erasure would remove, and what would stay; null: no such account. */
    readPersonalData: (accountId: number): Promise<PersonalData | null> =>
      readPersonalData(context.database, accountId),

    /**
     * Removes what identifies the person of a closed account; the ledger, the records, the hashes of
     * keys and the audit log stay, without the address (spec:operator/1.28). `former` are addresses of
     * earlier owners, which nothing but the reasons of operators still has.
     */
    erasePerson: (accountId: number, former: readonly string[] = []): Promise<ErasureOutcome> =>
      audited<ErasureOutcome>(context, (outcome) =>
        outcome.kind === 'done'
          ? { act: 'account.erase_person', accountId, after: outcome.data.removed }
          : null,
      ).transaction(async (sql) => {
        const account = await lockAccount(sql, accountId);
        const data = await readPersonalData(sql, accountId);
        if (account === null || data === null) return { kind: 'not_found' };
        if (account.closedAtMs === null) return { kind: 'open' };
        const isErased = Object.values(data.removed).every((count) => count === 0);
        if (isErased && former.length === 0) return { kind: 'unchanged' };
        const addresses = await readAddresses(sql, accountId);
        await eraseTexts(sql, accountId);
        const owner = await findOwnerOfAccount(sql, accountId);
        if (owner !== null) await deleteOwner(sql, owner);
        // A contact may be any text: only an address is looked for elsewhere.
        for (const address of addresses)
          if (parseEmail(address) !== null) await replaceAddress(sql, accountId, address, 'everywhere');
        for (const address of former) await replaceAddress(sql, accountId, address, 'account');
        return { kind: 'done', data };
      }),
  };
}
