/** A pending call of `Clock.after`. */
export interface Timer {
  cancel(): void;
}
