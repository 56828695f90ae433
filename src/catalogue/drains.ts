import { recordChange } from '../store/changes.ts';
import type { Sql, Transactions } from '../store/sql.ts';
import {
  type Drain,
  type DrainChange,
  findDrain,
  findDrainRequest,
  insertDrainChange,
  lockDrains,
  readDrains,
  wasPublished,
} from './drains-sql.ts';
import type { Candidate, DrainView } from './model.ts';

/**
 * What a change did: `unchanged` found the candidate in that state; `repeated` is a request whose
 * idempotency key was used for the same change before, `conflict` one whose key was used for
 * another. `before` is the drain that the change met; null: the candidate took requests.
 */
export type DrainOutcome =
  | { readonly kind: 'done' | 'unchanged'; readonly before: Drain | null }
  | { readonly kind: 'repeated' | 'conflict' | 'unknown_candidate' };

/**
 * Drains a candidate or resumes it: every process of every node follows within a second. Requests
 * that were planned before finish where they are. A candidate that the configuration lacks now
 * stays drained, and is drained when it comes back.
 */
export function changeDrain(
  database: Transactions,
  change: DrainChange,
  { by, atMs }: { readonly by: string; readonly atMs: number },
): Promise<DrainOutcome> {
  return database.transaction(async (sql): Promise<DrainOutcome> => {
    await lockDrains(sql);
    const { idempotencyKey, drained } = change;
    const earlier = idempotencyKey === null ? null : await findDrainRequest(sql, idempotencyKey);
    if (earlier !== null) return { kind: isSame(earlier, change) ? 'repeated' : 'conflict' };
    if (!(await wasPublished(sql, change))) return { kind: 'unknown_candidate' };
    const before = await findDrain(sql, change);
    const isChange = drained === (before === null);
    if (isChange || idempotencyKey !== null) await insertDrainChange(sql, change, { isChange, by, atMs });
    if (isChange) await recordChange(sql, 'drain', 0);
    return { kind: isChange ? 'done' : 'unchanged', before };
  });
}

type Wanted = Pick<DrainChange, 'model' | 'candidate' | 'drained' | 'reason'>;

function isSame(one: Wanted, other: Wanted): boolean {
  const names = ['model', 'candidate', 'drained', 'reason'] as const;
  return names.every((name) => one[name] === other[name]);
}

/**
 * The drained candidates as this process knows them. While the database is away, those that were
 * read last count.
 */
export class DrainedCandidates implements DrainView {
  readonly #sql: Sql;
  /** Labels by model. */
  #drained: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  #read: Promise<void> = Promise.resolve();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  isDrained({ modelId, label }: Pick<Candidate, 'modelId' | 'label'>): boolean {
    return this.#drained.get(modelId)?.has(label) ?? false;
  }

  /** Reads them again. Reads follow each other, so that the last one has the newest state. */
  refresh(): Promise<void> {
    const read = this.#read.then(async () => {
      const drains = await readDrains(this.#sql);
      const byModel = Map.groupBy(drains, ({ model }) => model);
      this.#drained = new Map(
        [...byModel].map(([model, rows]) => [model, new Set(rows.map(({ candidate }) => candidate))]),
      );
    });
    this.#read = read.catch(() => {});
    return read;
  }
}
