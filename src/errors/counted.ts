/**
 * A number with its noun for a person to read: `1 account`, `2 accounts`, `1 entry`, `0 entries`.
 */
export function counted(count: number | bigint, singular: string, plural = `${singular}s`): string {
  return `${count} ${BigInt(count) === 1n ? singular : plural}`;
}
