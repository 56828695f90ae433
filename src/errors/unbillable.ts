/**
 * Neither the journal nor the database took a settlement: the response cannot be billed, so it must
 * not be completed.
 */
export class Unbillable extends Error {
  override readonly name = 'Unbillable';
}
