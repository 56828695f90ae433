import { z } from 'zod';
import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import type { Identity } from '../../identity/identity.ts';
import type { VerificationRun } from '../../operations/ledger-verification.ts';
import { isoOf } from '../../time/clock.ts';
import type { ConsoleContext } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import { instant } from '../shapes.ts';
import { actorOf } from './operators.ts';

const differenceShape = z.strictObject({
  check: z.string(),
  subject: z.string(),
  expected: z.string(),
  found: z.string(),
});
const runShape = z
  .strictObject({
    state: z
      .enum(['running', 'agrees', 'differs', 'busy', 'stopped', 'failed'])
      .describe('`busy`: another process was verifying'),
    started_at: instant,
    started_by: z.string(),
    ended_at: instant.nullable(),
    check: z.string().describe('The current check'),
    share: z.number().min(0).max(1).describe('The progress of the verification'),
    fault: z.string().nullable(),
    checks: z.int().nullable(),
    accounts: z.int().nullable(),
    entries: z.int().nullable(),
    generations: z.int().nullable(),
    differences: z.array(differenceShape),
  })
  .nullable();
const pastShape = z
  .strictObject({
    at: instant,
    who: z.string(),
    details: z.record(z.string(), z.unknown()).nullable(),
  })
  .nullable();

/** The ledger (A11): its verification, and the last backup. */
export function consoleLedgerPages({ clock, identity, verification }: ConsoleContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/books',
      summary: 'The current or the last verification, and the last backup',
      response: z.strictObject({
        run: runShape.describe('The verification of this process; null: none since its start'),
        last_verification: pastShape.describe(
          'The last verification, of a console or the command line; the audit log has all',
        ),
        last_backup: pastShape,
        as_of: instant,
      }),
      handle: async () => ({
        run: runBody(verification.last),
        last_verification: await lastAct(identity, 'ledger.verify'),
        last_backup: await lastAct(identity, 'backup'),
        as_of: isoOf(clock.now()),
      }),
    }),
    pageRoute({
      method: 'POST',
      path: '/console/api/books/verify',
      role: 'support',
      summary:
        'Start a verification of the ledger, as `naru ledger verify` does; it continues after the response',
      body: z.object({}),
      response: z.strictObject({ run: runShape }),
      handle: ({ session }) => {
        if (verification.start(actorOf(session)) === 'running')
          throw new PageRefusal('conflict', pageMessages.verificationRuns);
        return { run: runBody(verification.last) };
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/console/api/books/stop',
      role: 'support',
      summary: 'Stop the current verification',
      body: z.object({}),
      response: z.strictObject({ run: runShape }),
      handle: async () => {
        await verification.stop();
        return { run: runBody(verification.last) };
      },
    }),
  ];
}

function runBody(run: VerificationRun | null): z.input<typeof runShape> {
  if (run === null) return null;
  const { ended, progress } = run;
  const outcome = ended?.outcome ?? null;
  const verdict = outcome !== null && typeof outcome === 'object' && 'checks' in outcome ? outcome : null;
  return {
    state: stateOf(run),
    started_at: isoOf(run.startedAtMs),
    started_by: run.startedBy,
    ended_at: ended === null ? null : isoOf(ended.atMs),
    check: progress.check,
    share: verdict === null ? progress.share : 1,
    fault: outcome !== null && typeof outcome === 'object' && 'fault' in outcome ? outcome.fault : null,
    checks: verdict?.checks.length ?? null,
    accounts: verdict?.accounts ?? null,
    entries: verdict?.entries ?? null,
    generations: verdict?.generations ?? null,
    differences: verdict === null ? [] : verdict.differences.map((difference) => ({ ...difference })),
  };
}

function stateOf({ ended }: VerificationRun): NonNullable<z.input<typeof runShape>>['state'] {
  if (ended === null) return 'running';
  const { outcome } = ended;
  if (outcome === 'busy' || outcome === 'stopped') return outcome;
  if ('fault' in outcome) return 'failed';
  return outcome.differences.length === 0 ? 'agrees' : 'differs';
}

async function lastAct(identity: Identity, act: string): Promise<z.input<typeof pastShape>> {
  const [row] = await identity.readActs({ limit: 1, act });
  if (row === undefined) return null;
  return { at: isoOf(row.atMs), who: row.who, details: row.after as Record<string, unknown> | null };
}
