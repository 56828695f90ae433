/**
 * Objects that come and go with requests, in the order in which they were added.
 *
 * A `Set` or `Map` would do, but not for the collector: V8 copies its table into a larger or
 * cleaner one again and again, and the old table points to the new one. Once one of these tables is
 * old, each that follows survives as well, and with it all that was in it at that moment: every
 * request then lives until the next full collection. Here an object that was removed points to
 * nothing.
 */
export class LinkedList<T> implements Iterable<T> {
  #first: ListPlace<T> | null = null;
  #last: ListPlace<T> | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The object that was added first; undefined when there is none. */
  get first(): T | undefined {
    return this.#first?.value;
  }

  /** Adds an object behind all others. Its place removes it again. */
  add(value: T): ListPlace<T> {
    const place = new ListPlace(value, this);
    place.previous = this.#last;
    if (this.#last === null) this.#first = place;
    else this.#last.next = place;
    this.#last = place;
    this.#size += 1;
    return place;
  }

  /** Removes the object of a place; does nothing when it was removed before. */
  remove(place: ListPlace<T>): void {
    if (place.list !== this) return;
    const { previous, next } = place;
    if (previous === null) this.#first = next;
    else previous.next = next;
    if (next === null) this.#last = previous;
    else next.previous = previous;
    place.previous = null;
    place.next = null;
    place.list = null;
    this.#size -= 1;
  }

  /** The objects of this moment; what is added or removed meanwhile changes nothing. */
  [Symbol.iterator](): ArrayIterator<T> {
    const values: T[] = [];
    for (let place = this.#first; place !== null; place = place.next) values.push(place.value);
    return values.values();
  }
}

/** Where an object is in a list. Its links belong to the list. */
export class ListPlace<T> {
  readonly value: T;
  list: LinkedList<T> | null;
  previous: ListPlace<T> | null = null;
  next: ListPlace<T> | null = null;

  constructor(value: T, list: LinkedList<T>) {
    this.value = value;
    this.list = list;
  }

  /** Removes the object from its list; any further call does nothing. */
  remove(): void {
    this.list?.remove(this);
  }
}
