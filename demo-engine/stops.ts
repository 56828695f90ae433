/** Cuts text before the first of some strings, holding back what may yet become one. */
export interface StopFilter {
  /** Takes the next piece; returns what of it may be shown. Nothing more comes once `stopped`. */
  take(piece: string): string;
  /** What was held back, when the text has ended without a stop. */
  rest(): string;
  /** True once a stop was seen. */
  readonly stopped: boolean;
}

/** A filter for `stops`, none of them empty. */
export function createStopFilter(stops: readonly string[]): StopFilter {
  let held = '';
  let stopped = false;
  return {
    get stopped() {
      return stopped;
    },
    take(piece) {
      if (stopped) return '';
      held += piece;
      const found = stops.map((stop) => held.indexOf(stop)).filter((at) => at >= 0);
      stopped = found.length > 0;
      const cut = stopped
        ? Math.min(...found)
        : held.length - Math.max(0, ...stops.map((stop) => overlap(held, stop)));
      const shown = held.slice(0, cut);
      held = stopped ? '' : held.slice(cut);
      return shown;
    },
    rest() {
      const shown = held;
      held = '';
      return shown;
    },
  };
}

/** How many characters at the end of `text` are the beginning of `stop`. */
function overlap(text: string, stop: string): number {
  for (let length = Math.min(text.length, stop.length - 1); length > 0; length--) {
    if (text.endsWith(stop.slice(0, length))) return length;
  }
  return 0;
}
