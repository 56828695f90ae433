/** One check of `naru doctor`; a failed one's `words` contain the remedy. */
export interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
}
