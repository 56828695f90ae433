import type { LineCounter } from 'yaml';
import { type Fault, type Path, pathText } from './fault.ts';

interface SourcePosition {
  readonly nameOffset: number;
  readonly valueOffset: number;
}

/** The locations of every value of one file, and its faults. */
export class SourceMap {
  readonly #lines: LineCounter;
  readonly #sourceMap = new Map<string, SourcePosition>();
  readonly #fromOutside = new Set<string>();
  readonly #unknown = new Set<string>();
  readonly #faults: Fault[] = [];

  constructor(lines: LineCounter) {
    this.#lines = lines;
  }

  /**
   * Records where a value and its name begin, as offsets into the text. An item of a list has no
   * name.
   */
  record(path: Path, valueOffset: number, nameOffset = valueOffset): void {
    this.#sourceMap.set(pathText(path), { nameOffset, valueOffset });
  }

  /** Marks a value from an environment variable or a file: no message may quote it. */
  markFromOutside(path: Path): void {
    this.#fromOutside.add(pathText(path));
  }

  /** Whether the value at `path` comes from an environment variable or a file. */
  isFromOutside(path: Path): boolean {
    return this.#fromOutside.has(pathText(path));
  }

  /** A fault of a value whose content is unknown: further faults of it are dropped. */
  addUnknown(path: Path, message: string): void {
    this.add(path, message);
    this.#unknown.add(pathText(path));
  }

  /** Whether the value at `path` is unknown. */
  isUnknown(path: Path): boolean {
    return this.#unknown.has(pathText(path));
  }

  /**
   * Adds a fault at the value, or at its name; a missing member is reported at its nearest existing
   * parent.
   */
  add(path: Path, message: string, at: 'value' | 'name' = 'value'): void {
    if (this.isUnknown(path)) return;
    const position = this.#nearest(path);
    this.addAt(at === 'name' ? position.nameOffset : position.valueOffset, path, message);
  }

  /** Adds a fault at an offset into the text. */
  addAt(offset: number, path: Path, message: string): void {
    const { line, col } = this.#lines.linePos(offset);
    // For an empty text the line counter returns 0.
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
