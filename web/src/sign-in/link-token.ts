/**
 * The token of a one-time link: it stands in the fragment, so that no log and no referrer has it. A
 * pasted link is taken too. Empty when there is none.
 */
export function tokenOf(link: string): string {
  return link.slice(link.indexOf('#') + 1).trim();
}

/** The token of the address of this page; takes it out of the address and the history. */
export function takeToken(): string {
  const { hash, pathname, search } = window.location;
  if (hash.length > 1) window.history.replaceState(window.history.state, '', pathname + search);
  return hash.length > 1 ? tokenOf(hash) : '';
}
