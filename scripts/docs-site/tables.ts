/**
 * A page with its tables, each below its mark `<!-- table: NAME -->`. Throws for a mark without a
 * table and for a table without a mark.
 */
export function withTables(page: string, tables: ReadonlyMap<string, string>): string {
  const missing = new Set(tables.keys());
  const text = page.replaceAll(/^<!-- table: (\S+) -->$/gm, (_mark, name: string) => {
    const table = tables.get(name);
    if (table === undefined) throw new Error(`there is no table ${name}`);
    missing.delete(name);
    return table;
  });
  if (missing.size > 0) throw new Error(`the page lacks the tables ${[...missing].join(', ')}`);
  return text;
}
