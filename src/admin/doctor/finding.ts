/** One check of `naru doctor`; the message of a failed one contains the remedy. */
export interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
}
