import type { LineCounter } from 'yaml';
import { type Fault, type Path, pathText } from './fault.ts';

interface SourcePosition {
  readonly nameOffset: number;
  readonly valueOffset: number;
}

/** Where every value of one file stands, and what is wrong with it. */
export class SourceMap {
  readonly #lines: LineCounter;
  readonly #sourceMap = new Map<string, SourcePosition>();
  readonly #fromOutside = new Set<string>();
  readonly #unknown = new Set<string>();
  readonly #faults: Fault[] = [];

  constructor(lines: LineCounter) {
    this.#lines = lines;
  }

  /** Records where a value and its name begin, as offsets into the text. An item of a list has no name of its own. */
  record(path: Path, valueOffset: number, nameOffset = valueOffset): void {
    this.#sourceMap.set(pathText(path), { nameOffset, valueOffset });
  }

  /** Marks a value that came out of an environment variable or a file: no message may quote it. */
  markFromOutside(path: Path): void {
    this.#fromOutside.add(pathText(path));
  }

  /** Whether the value at `path` came out of an environment variable or a file. */
  isFromOutside(path: Path): boolean {
    return this.#fromOutside.has(pathText(path));
  }

  /** A fault of a value whose content stays unknown: further faults of it would only be noise and are dropped. */
  addUnknown(path: Path, message: string): void {
    this.add(path, message);
    this.#unknown.add(pathText(path));
  }

  /** Whether the value at `path` could not be had. */
  isUnknown(path: Path): boolean {
    return this.#unknown.has(pathText(path));
  }

  /** A fault at the value, or at its name; what is not in the file is at fault where its nearest parent stands. */
  add(path: Path, message: string, at: 'value' | 'name' = 'value'): void {
    if (this.isUnknown(path)) return;
    const position = this.#nearest(path);
    this.addAt(at === 'name' ? position.nameOffset : position.valueOffset, path, message);
  }

  /** A fault at an offset into the text. */
  addAt(offset: number, path: Path, message: string): void {
    const { line, col } = this.#lines.linePos(offset);
    // Of an empty text the counter knows no line and answers 0.
    this.#faults.push({ line: Math.max(1, line), column: Math.max(1, col), path: pathText(path), message });
  }

  /** Every fault, from the top of the file to its end. */
  faults(): readonly Fault[] {
    return this.#faults.toSorted((a, b) => a.line - b.line || a.column - b.column);
  }

  /** The line on which the value at `path` begins. */
  lineOf(path: Path): number {
    return this.#lines.linePos(this.#nearest(path).nameOffset).line;
  }

  #nearest(path: Path): SourcePosition {
    for (let steps = path.length; steps >= 0; steps--) {
      const position = this.#sourceMap.get(pathText(path.slice(0, steps)));
      if (position !== undefined) return position;
    }
    return { nameOffset: 0, valueOffset: 0 };
  }
}
