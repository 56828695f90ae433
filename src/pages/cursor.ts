import { refuse } from '../errors/catalogue.ts';
import { messages, requirements } from '../errors/messages.ts';

/**
 * A page of rows that were read one further than `limit`: `next` is the cursor after the last of
 * them, null on the last page.
 */
export function pageOfRows<Row>(
  found: readonly Row[],
  limit: number,
  cursorAfter: (last: Row) => string | number,
): { readonly rows: readonly Row[]; readonly next: string | null } {
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, next: found.length <= limit || last === undefined ? null : String(cursorAfter(last)) };
}

/** A place in a list as an opaque cursor. */
export function cursorOf(place: readonly (string | number | null)[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** The place of a cursor; refuses one that `read` does not accept. */
export function readCursor<T>(cursor: string, read: (place: readonly unknown[]) => T | null): T {
  let place: unknown = null;
  try {
    place = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    // As one with another content.
  }
  const value = Array.isArray(place) ? read(place) : null;
  if (value === null)
    throw refuse('invalid_request', messages.invalidValue('cursor', requirements.documented));
  return value;
}
