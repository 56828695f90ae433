import type { Verdict } from './cell.ts';
import type { MatrixReport } from './matrix.ts';

/**
 * Prints a line a class, the cells that failed with the reason, and the count; returns whether
 * all of them passed.
 */
export function reportMatrix(report: MatrixReport, print: (line: string) => void): boolean {
  const { verdicts, faults } = report;
  const failures = verdicts.filter((verdict) => verdict.faults.length > 0);
  const classes = new Map<string, Verdict[]>();
  for (const verdict of verdicts) {
    const { className } = verdict.cell.standing;
    classes.set(className, [...(classes.get(className) ?? []), verdict]);
  }
  for (const [name, cells] of classes) {
    const passed = cells.filter((cell) => cell.faults.length === 0).length;
    print(`${passed === cells.length ? 'ok  ' : 'MISS'} ${name}: ${passed}/${cells.length}`);
  }
  for (const failure of failures)
    print(`  ${nameOf(failure)}\n      ${failure.faults.join('\n      ').replaceAll('\n', '\n      ')}`);
  for (const fault of faults) print(`MISS ${fault}`);
  const waits = verdicts.filter(({ cell }) => cell.standing.fault.takes !== undefined);
  const over = (some: readonly Verdict[]): number =>
    Math.round(Math.max(0, ...some.map(({ tookMs, limitMs }) => tookMs - limitMs)));
  const slowest = verdicts.filter((verdict) => !waits.includes(verdict)).map(({ tookMs }) => tookMs);
  print(
    `     ${new Set(verdicts.map(({ cell }) => cell.standing)).size} faults × {stream, whole} × {1, 3 candidates}, ${report.requests} requests`,
  );
  print(
    `     where a limit ends the wait: at most ${over(waits)} ms beyond it; elsewhere at most ${Math.round(Math.max(0, ...slowest))} ms in all; ${report.retried} repeated because of their time`,
  );
  print(`${verdicts.length - failures.length} / ${verdicts.length} cells passed`);
  return failures.length === 0 && faults.length === 0 && verdicts.length > 0;
}

function nameOf({ cell: { standing, stream, candidates } }: Verdict): string {
  return `${standing.className}: ${standing.fault.name} (${stream ? 'stream' : 'whole'}, ${candidates})`;
}
