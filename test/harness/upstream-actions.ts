/**
 * One action of a scripted response. A `send` is one write; two turns of the event loop follow it,
 * so that a client in the same process gets it as a separate read.
 */
export type Act =
  | { readonly act: 'send'; readonly bytes: Buffer }
  | { readonly act: 'wait'; readonly waitMs: number }
  | { readonly act: 'hold'; readonly gate: Gate }
  /**
   * How the response ends when not by keeping the connection alive; `never` stays silent until the
   * peer disconnects.
   */
  | { readonly act: 'end'; readonly by: Ending };

/**
 * `fin` closes properly, `rst` resets, `never` stays open and silent until the peer disconnects.
 */
export type Ending = 'fin' | 'rst' | 'never';

/**
 * A whole response as acts, and how many of its first bytes are the head (status line to blank
 * line).
 */
export interface Rendered {
  readonly acts: readonly Act[];
  readonly headBytes: number;
}

/**
 * A position in the bytes of a response, head included: from the front (0 is before the first
 * byte), from the back when negative, or `head`, just behind the blank line.
 */
export type StopPoint = number | 'head';

/**
 * A point at which the upstream waits until the test opens it. Opening early is fine; it stays
 * open.
 */
export interface Gate {
  /** Lets the upstream go on. */
  open(): void;
  /** Resolves once the upstream has arrived here, everything before it written. */
  readonly reached: Promise<void>;
  readonly opened: Promise<void>;
  /** The upstream's own call. */
  arrive(): void;
}

/** A closed gate. */
export function gate(): Gate {
  const opened = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  return {
    open: () => opened.resolve(),
    opened: opened.promise,
    reached: reached.promise,
    arrive: () => reached.resolve(),
  };
}

/** All bytes that the acts would send. */
export function bytesOf(acts: readonly Act[]): Buffer {
  return Buffer.concat(acts.flatMap((act) => (act.act === 'send' ? [act.bytes] : [])));
}

/** The response up to `place`, then the end. */
export function cut(rendered: Rendered, point: StopPoint, by: Ending): Rendered {
  const offset = offsetOf(rendered, point);
  const { before } = divide(rendered.acts, offset);
  return { ...rendered, acts: [...before, { act: 'end', by }] };
}

/** The response with `extra` inserted at `place`. */
export function insert(rendered: Rendered, point: StopPoint, extra: Act): Rendered {
  const { before, after } = divide(rendered.acts, offsetOf(rendered, point));
  return { ...rendered, acts: [...before, extra, ...after] };
}

/** The response with its writes split at the given positions, each part a separate write. */
export function split(rendered: Rendered, points: readonly StopPoint[]): Rendered {
  let acts = rendered.acts;
  for (const point of points) {
    const { before, after } = divide(acts, offsetOf(rendered, point));
    acts = [...before, ...after];
  }
  return { ...rendered, acts };
}

/** The response in writes of at most `size` bytes, `waitMs` after each. */
export function drip(rendered: Rendered, size: number, waitMs: number): Rendered {
  const acts = rendered.acts.flatMap((act): Act[] => {
    if (act.act !== 'send') return [act];
    const parts: Act[] = [];
    for (let at = 0; at < act.bytes.length; at += size) {
      parts.push({ act: 'send', bytes: act.bytes.subarray(at, at + size) });
      if (waitMs > 0) parts.push({ act: 'wait', waitMs });
    }
    return parts;
  });
  return { ...rendered, acts };
}

/** The response with neighbouring writes merged, so that chunks arrive together. */
export function join(rendered: Rendered): Rendered {
  const acts: Act[] = [];
  for (const act of rendered.acts) {
    const last = acts.at(-1);
    if (act.act !== 'send' || last?.act !== 'send') acts.push(act);
    else acts[acts.length - 1] = { act: 'send', bytes: Buffer.concat([last.bytes, act.bytes]) };
  }
  return { ...rendered, acts };
}

/**
 * Throws when the response has no such position, since a test would otherwise pass without its
 * fault.
 */
function offsetOf(rendered: Rendered, point: StopPoint): number {
  const total = bytesOf(rendered.acts).length;
  const offset = point === 'head' ? rendered.headBytes : point < 0 ? total + point : point;
  if (offset < 0 || offset > total) throw new RangeError(`no byte ${point} in a response of ${total}`);
  return offset;
}

/** Everything at the offset itself (waits, gates) comes after the cut. */
function divide(acts: readonly Act[], offset: number): { before: Act[]; after: Act[] } {
  const before: Act[] = [];
  const after: Act[] = [];
  let left = offset;
  for (const act of acts) {
    if (left === 0) after.push(act);
    else if (act.act !== 'send') before.push(act);
    else {
      before.push({ act: 'send', bytes: act.bytes.subarray(0, left) });
      if (act.bytes.length > left) after.push({ act: 'send', bytes: act.bytes.subarray(left) });
      left = Math.max(0, left - act.bytes.length);
    }
  }
  return { before, after };
}
