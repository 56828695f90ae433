const colourCount = 9;
const storageKey = 'naru.colours';

/** The series of everything that has no series of its own. */
export const otherKey = '__other__';

/** Assigns colours to names: the same name has the same colour on every page and in every visit. */
export class ColourBook {
  readonly #slots = new Map<string, number>();

  constructor(stored: readonly (readonly [string, number])[] = []) {
    for (const [name, slot] of stored) if (isSlot(slot)) this.#slots.set(name, slot);
  }

  /**
   * The colour of a name, 1 to 9. A new name takes the slot of its hash, or the least used one after it
   * when that is taken, so that the first nine names differ.
   */
  slotOf(name: string): number {
    const known = this.#slots.get(name);
    if (known !== undefined) return known;
    const uses = Array.from({ length: colourCount }, () => 0);
    for (const slot of this.#slots.values()) uses[slot - 1] = (uses[slot - 1] ?? 0) + 1;
    const least = Math.min(...uses);
    const wanted = hash(name) % colourCount;
    const steps = Array.from({ length: colourCount }, (_, step) => (wanted + step) % colourCount);
    const slot = (steps.find((index) => uses[index] === least) ?? wanted) + 1;
    this.#slots.set(name, slot);
    return slot;
  }

  /** All assignments, in the order in which they were made. */
  entries(): readonly (readonly [string, number])[] {
    return [...this.#slots];
  }
}

let book: ColourBook | null = null;

/** The CSS colour of a model or another series name; grey for the rest. */
export function colourOf(name: string): string {
  if (name === otherKey) return 'var(--chart-other)';
  book ??= new ColourBook(read());
  const before = book.entries().length;
  const slot = book.slotOf(name);
  if (book.entries().length !== before) write(book);
  return `var(--chart-${slot})`;
}

function isSlot(slot: unknown): slot is number {
  return typeof slot === 'number' && Number.isInteger(slot) && slot >= 1 && slot <= colourCount;
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value >>> 0;
}

function read(): readonly (readonly [string, number])[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storageKey) ?? '[]');
    if (!Array.isArray(stored)) return [];
    return stored.filter(
      (entry): entry is [string, number] =>
        Array.isArray(entry) && typeof entry[0] === 'string' && isSlot(entry[1]),
    );
  } catch {
    return [];
  }
}

function write(colours: ColourBook): void {
  const maxStored = 200;
  try {
    localStorage.setItem(storageKey, JSON.stringify(colours.entries().slice(-maxStored)));
  } catch {
    // Storage is blocked: colours stay the same until the page closes.
  }
}
