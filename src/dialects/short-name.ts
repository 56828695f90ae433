/** Ids and codes are kept as long as their response; the real ones are far shorter. */
const maxNameLength = 500;

/** The first 500 UTF-16 units of an id or a code that an upstream chose. */
export function shortName(name: string): string {
  // A copy: a slice would keep all of the text.
  return name.length <= maxNameLength ? name : Buffer.from(name.slice(0, maxNameLength)).toString();
}
