import type { ResponseOf } from '../../api/client.ts';

/** An account in figures. */
export type Account = ResponseOf<'GET /console/api/accounts/{account}'>;

/** A form of an act on an account. */
export interface AccountActProps {
  readonly account: Account;
  readonly onClose: () => void;
}
