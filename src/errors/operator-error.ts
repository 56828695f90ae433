/**
 * A mistake of the operator, or a condition that the operator can correct: the message is printed,
 * exit code 1.
 */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError';
}
