/** The reader of the output has closed it, as `head` does: nobody needs the rest. */
export class OutputClosed extends Error {
  override readonly name = 'OutputClosed';
}
