/** Cuts text before the first stop string; holds back text that may become one. */
export interface StopFilter {
  /** Adds a piece; returns the text that can be sent. Returns nothing once `stopped`. */
  take(piece: string): string;
  /** The held-back text, after the end without a stop. */
  rest(): string;
  /** True after a stop string. */
  readonly stopped: boolean;
}

/** Creates a filter for `stops`, which must not be empty strings. */
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

/** The length of the longest suffix of `text` that is a prefix of `stop`. */
function overlap(text: string, stop: string): number {
  for (let length = Math.min(text.length, stop.length - 1); length > 0; length--) {
    if (text.endsWith(stop.slice(0, length))) return length;
  }
  return 0;
}
