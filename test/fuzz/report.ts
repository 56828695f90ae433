import type { Campaign } from './campaign.ts';

/** Responses below 400, in percent. */
export function successPercent({ counts }: Campaign): number {
  const all = [...counts];
  const good = all.filter(([name]) => / 20\d$/.test(name));
  return (100 * total(good)) / Math.max(1, total(all));
}

/** Operations that never responded with 200 or 201. */
export function unreached({ counts, operations }: Campaign): readonly string[] {
  return operations
    .map((each) => each.name)
    .filter((name) => !counts.has(`${name} 200`) && !counts.has(`${name} 201`));
}

/** Every pair of status and error type that was seen. */
export function errorsSeen({ counts }: Campaign): ReadonlySet<string> {
  return new Set([...counts.keys()].flatMap((name) => name.match(/\d{3} [a-z_]+$/)?.[0] ?? []));
}

/** The counts in one line an operation, and what was found. */
export function printCampaign(campaign: Campaign, print: (line: string) => void): void {
  const { seed, responded, ms, finding, counts } = campaign;
  const rate = Math.round(responded / (ms / 1000));
  print(
    `fuzz: seed ${seed}, ${responded} requests in ${(ms / 1000).toFixed(1)} s (${rate}/s), ${successPercent(campaign).toFixed(1)} % succeeded`,
  );
  const rows = Map.groupBy([...counts], ([name]) => name.replace(/ \d+( [a-z_]+)?$/, ''));
  for (const [name, found] of [...rows].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const parts = found.map(([row, count]) => `${row.slice(name.length + 1)} × ${count}`).sort();
    print(`  ${name}: ${parts.join(', ')}`);
  }
  if (finding === null) return;
  print(`fuzz: request ${finding.n} of seed ${seed} broke a rule: ${finding.why}`);
  print(`fuzz: the smallest request that does:\n${finding.request}`);
}

function total(rows: readonly (readonly [string, number])[]): number {
  return rows.reduce((sum, [, count]) => sum + count, 0);
}
