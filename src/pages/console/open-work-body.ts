import { z } from 'zod';
import type { AccountRow } from '../../accounts/accounts-sql.ts';
import { isoOf } from '../../time/clock.ts';
import { type GenerationUuid, generationIdOf } from '../../wire/ids/generation-id.ts';
import { instant, micro } from '../shapes.ts';

/** What a request may do at the moment, in the order of its path. */
export const requestPhases = ['preparing', 'waiting', 'calling', 'responding'] as const;
type RequestPhase = (typeof requestPhases)[number];

/** A request in flight; plain JSON, so that it crosses processes. */
export interface OpenRequest {
  readonly id: string;
  readonly accountId: number;
  readonly phase: RequestPhase;
  readonly startedAtMs: number;
  readonly model: string | null;
  readonly candidate: string | null;
  readonly isStream: boolean | null;
}

/** What one process has in hand: the oldest rows of each kind, and how many there are. */
export interface OpenWork {
  readonly counts: Readonly<Record<RequestPhase, number>>;
  readonly requests: readonly OpenRequest[];
  readonly backlog: number;
  readonly unsettled: readonly {
    readonly uuid: string;
    readonly accountId: number;
    readonly model: string | null;
    /** Micro-won. */
    readonly cost: string;
    readonly settledAtMs: number;
  }[];
}

/** The work of the processes of a server; `worker` is null when one process does all. */
export interface WorkOfProcess {
  readonly worker: number | null;
  readonly work: OpenWork;
}

const account = z.strictObject({ id: z.int(), name: z.string() });
const worker = z.int().nullable().describe('Null: there is one process');

export const openWorkShape = z.strictObject({
  as_of: instant,
  processes: z.strictObject({ responding: z.int(), expected: z.int() }),
  phases: z.array(z.strictObject({ phase: z.enum(requestPhases), count: z.int() })),
  requests: z
    .array(
      z.strictObject({
        id: z.string(),
        account,
        phase: z
          .enum(requestPhases)
          .describe('`waiting`: until earlier requests of its account or key settle'),
        started_at: instant,
        model: z.string().nullable(),
        candidate: z.string().nullable().describe('The candidate that is called'),
        streamed: z.boolean().nullable().describe('Null: its body has not been read'),
        worker,
      }),
    )
    .describe('The oldest of each phase'),
  backlog: z.int().describe('Settlements that are not in the database yet'),
  unsettled: z
    .array(
      z.strictObject({
        id: z.string(),
        account,
        model: z.string().nullable(),
        cost_micro: micro,
        settled_at: instant.describe('When it became durable in the journal'),
        worker,
      }),
    )
    .describe('The oldest of them'),
});

/** The ids of the accounts that the rows name. */
export function accountsOf(found: readonly WorkOfProcess[]): readonly number[] {
  const ids = found.flatMap(({ work }) =>
    [...work.requests, ...work.unsettled].map(({ accountId }) => accountId),
  );
  return [...new Set(ids)];
}

/** The work of all processes together, the oldest first. */
export function openWorkBody(
  found: readonly WorkOfProcess[],
  {
    accounts,
    size,
    nowMs,
  }: { readonly accounts: readonly AccountRow[]; readonly size: number; readonly nowMs: number },
): z.input<typeof openWorkShape> {
  const names = new Map(accounts.map(({ accountId, name }) => [accountId, name]));
  const named = (id: number): z.input<typeof account> => ({ id, name: names.get(id) ?? '' });
  const requests = found.flatMap(({ worker: by, work }) => work.requests.map((row) => ({ ...row, by })));
  const unsettled = found.flatMap(({ worker: by, work }) => work.unsettled.map((row) => ({ ...row, by })));
  return {
    as_of: isoOf(nowMs),
    processes: { responding: found.length, expected: size },
    phases: requestPhases.map((phase) => ({
      phase,
      count: found.reduce((sum, { work }) => sum + work.counts[phase], 0),
    })),
    requests: requests
      .toSorted((a, b) => a.startedAtMs - b.startedAtMs)
      .map((row) => ({
        id: row.id,
        account: named(row.accountId),
        phase: row.phase,
        started_at: isoOf(row.startedAtMs),
        model: row.model,
        candidate: row.candidate,
        streamed: row.isStream,
        worker: row.by,
      })),
    backlog: found.reduce((sum, { work }) => sum + work.backlog, 0),
    unsettled: unsettled
      .toSorted((a, b) => a.settledAtMs - b.settledAtMs)
      .map((row) => ({
        id: generationIdOf(row.uuid as GenerationUuid),
        account: named(row.accountId),
        model: row.model,
        cost_micro: row.cost,
        settled_at: isoOf(row.settledAtMs),
        worker: row.by,
      })),
  };
}
