import type { ResponseOf } from '../../api/client.ts';

/** An account in figures. */
export type Account = ResponseOf<'GET /console/api/accounts/{account}'>;

/** A business number with its hyphens. */
export function shownNumber(digits: string | null): string | null {
  return digits?.replace(/^(...)(..)/, '$1-$2-') ?? null;
}

/** A form of an act on an account. */
export interface AccountActProps {
  readonly account: Account;
  readonly onClose: () => void;
}
