/**
 * Rows page by page, each page read by the last row of the one before; the next one is read while a
 * page is used.
 */
export async function* readAhead<T>(
  pageSize: number,
  readAfter: (last: T | null) => Promise<readonly T[]>,
): AsyncGenerator<T> {
  let page = await readAfter(null);
  for (;;) {
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return yield* page;
    const next = readAfter(last);
    // It may fail while the page is used, or when nobody wants it any more.
    next.catch(() => {});
    yield* page;
    page = await next;
  }
}
