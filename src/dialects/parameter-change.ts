/** What became of a parameter on the way to an upstream; what was sent as the client said it has none. Never holds its value. */
export interface ParameterChange {
  readonly parameter: string;
  /** `dropped`: not sent. `renamed`: sent under another name. `changed`: sent with another value. */
  readonly change: 'dropped' | 'renamed' | 'changed';
  /** The name under which it was sent, where that is another. */
  readonly to?: string;
}
