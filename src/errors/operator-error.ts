/** The operator's mistake, or a condition that the operator can correct: printed as it is, exit code 1. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}
