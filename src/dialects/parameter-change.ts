/**
 * How a parameter changed on its way to an upstream; unchanged ones have no entry. Never contains
 * its value.
 */
export interface ParameterChange {
  readonly parameter: string;
  /**
   * `dropped`: not sent. `renamed`: sent under another name. `changed`: sent with another value.
   */
  readonly change: 'dropped' | 'renamed' | 'changed';
  /** The name under which it was sent, if different. */
  readonly to?: string;
}

/** Notes that a member of a request is not sent as received. */
export type NoteChange = (parameter: string, change: ParameterChange['change']) => void;
