/** One check of `naru doctor`; the message of a failed one contains the remedy. */
export interface Finding {
  readonly name: string;
  readonly ok: boolean;
  /** Something to do when there is time; Naru serves. */
  readonly isWarning?: boolean;
  readonly message: string;
}
