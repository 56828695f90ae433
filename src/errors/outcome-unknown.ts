/**
 * The connection was lost when COMMIT had been sent: the transaction may have happened or not. The
 * code is the SQLSTATE of an unknown resolution, so it counts as a connection loss.
 */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
  readonly code = '08007';

  constructor(cause: unknown) {
    super('the database did not confirm the commit: it may have happened or not', { cause });
  }
}
