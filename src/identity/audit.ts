/** What an operator may do: read; grant credit up to a limit and suspend keys; everything. */
export const operatorRoles = ['viewer', 'support', 'admin'] as const;
export type OperatorRole = (typeof operatorRoles)[number];

/**
 * Who acts: an operator of the console, or a user of the command line, whose credential is the
 * permissions of files.
 */
export type Actor =
  | {
      readonly kind: 'operator';
      readonly operatorId: number;
      readonly name: string;
      readonly role: OperatorRole;
    }
  | { readonly kind: 'cli'; readonly name: string };

/**
 * One act. It names owners and keys by id or hash, never by personal data: the log outlives that.
 */
export interface Act {
  /** Such as `credit.grant`. */
  readonly act: string;
  readonly accountId?: number;
  /** What it was done to, such as the hash of a key. */
  readonly subject?: string;
  readonly reason?: string | null;
  readonly before?: object | null;
  readonly after?: object | null;
}
