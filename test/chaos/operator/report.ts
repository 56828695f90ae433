import type { StepDone } from './steps.ts';

/** The report of a trial, as the page `docs/operations/trial.md`. */
export function reportOf(steps: readonly StepDone[], tookMs: number, quick: boolean): string {
  const rows = steps.map(
    ({ place, tookMs: took, seen }) =>
      `${place.replace(/^docs\/(.+)\.md/, '$1')} | ${(took / 1_000).toFixed(1)} | ${seen}`,
  );
  return `# The trial of a new operator

Written by \`npm run chaos:operator -- ${quick ? '--quick ' : ''}--record\`, ${new Date().toISOString().slice(0, 10)}: the commands
of the pages on two machines of one host, in ${Math.round(tookMs / 60_000)} minutes. The clock of the database made the month.

Step | Seconds | Seen
---|---:|---
${rows.join('\n')}
`;
}
