import { get } from 'node:http';
import { krwOfMicro, krwToDecimal } from '../../src/money/krw.ts';
import type { OperatorService } from '../../src/operations/operator-service.ts';
import { type GenerationUuid, generationIdOf } from '../../src/wire/ids/generation-id.ts';
import type { Payer } from '../harness/payer.ts';
import type { Sight } from './client.ts';
import type { JsonLine, Site } from './naru-process.ts';

/** One goal of a chaos run: its text, and the faults against it. */
export interface Goal {
  readonly goal: string;
  /** What was counted, for the one line that is printed. */
  readonly counts: string;
  readonly faults: readonly string[];
}

/** The ledger of a site as its commands export it. */
export interface Exports {
  readonly verdict: JsonLine;
  readonly entries: readonly JsonLine[];
  readonly generations: readonly JsonLine[];
}

/** Statuses that end without a charge, and rejections that this load provokes. */
export const expectedRefusals: ReadonlySet<string> = new Set([
  'invalid_request',
  'model_not_found',
  'provider_error',
]);

/** Reads everything through the commands of an operator, while the server runs. */
export async function exportLedger(site: Site): Promise<Exports> {
  const { lines: entries } = await site.naru('ledger', 'export');
  const { lines: generations } = await site.naru('generation', 'export');
  const { lines: verdicts } = await site.naru('ledger', 'verify');
  return { verdict: verdicts[0] ?? { ok: false, differences: ['no verdict'] }, entries, generations };
}

/** The same, read beside a server through the rooms that those commands use. */
export async function readLedger(operator: OperatorService): Promise<Exports> {
  const rows = await Array.fromAsync(operator.exportEntries(null));
  const verdict = await operator.verifyLedger();
  return {
    verdict: { ...verdict, ok: verdict.differences.length === 0, checks: verdict.checks.length },
    entries: rows.map((row) => ({
      id: row.id,
      account_id: row.accountId,
      kind: row.kind,
      amount_krw: krwToDecimal(krwOfMicro(row.amountMicro)),
      generation_id:
        row.generationUuid === null ? null : generationIdOf(row.generationUuid as GenerationUuid),
    })),
    generations: await Array.fromAsync(operator.exportGenerations(null)),
  };
}

/** Fails with every missed goal in its message. */
export function assertMet(goals: readonly Goal[]): void {
  const lines: string[] = [];
  if (!report(goals, (line) => lines.push(line))) throw new Error(`goals were missed:\n${lines.join('\n')}`);
}

/**
 * Whether what clients received agrees exactly with the ledger. `unexpected` rejections are faults
 * unless the disturbance allows them.
 */
export function auditHistory(
  sights: readonly Sight[],
  accounting: Exports,
  allowed: ReadonlySet<string> = expectedRefusals,
): readonly Goal[] {
  const usage = accounting.entries.filter((entry) => entry.kind === 'usage');
  const entriesOf = groupBy(usage, (entry) => String(entry.generation_id));
  const recordsOf = groupBy(accounting.generations, (record) => String(record.http_referer));
  const recordById = new Map(accounting.generations.map((record) => [String(record.id), record]));
  const of = (kind: Sight['kind']): readonly Sight[] => sights.filter((sight) => sight.kind === kind);
  /** A response without a generation's id is found by its tag. */
  const idsOf = ({ order, generationId }: Sight): readonly string[] =>
    generationId !== null
      ? [generationId]
      : (recordsOf.get(order.tag) ?? []).map((record) => String(record.id));
  const entriesFor = (sight: Sight): readonly JsonLine[] =>
    idsOf(sight).flatMap((id) => entriesOf.get(id) ?? []);

  const successes = of('success');
  const failures = [...of('errored'), ...of('refused')];
  const unseen = of('unseen');
  const unseenPaid = unseen.filter((sight) => entriesFor(sight).length > 0);
  // A server without its database cannot authenticate, and then writes no record.
  const responded = sights.filter((sight) => sight.status !== null && sight.errorType !== 'server');
  const refusals = sights.filter((sight) => sight.kind === 'refused');
  return [
    {
      goal: 'ledger verify is clean',
      counts: `${accounting.verdict.accounts} accounts, ${accounting.verdict.entries} entries, ${accounting.verdict.generations} generations, ${accounting.verdict.checks} checks`,
      faults: accounting.verdict.ok
        ? []
        : accounting.verdict.differences.map((row: unknown) => JSON.stringify(row)),
    },
    {
      goal: 'every response whose end was seen has one entry of exactly usage.cost',
      counts: `${successes.length} responses`,
      faults: successes.flatMap((sight) => {
        const amounts = entriesFor(sight).map((entry) => -microOf(entry.amount_krw));
        if (
          sight.costMicro === 0n
            ? amounts.length === 0
            : amounts.length === 1 && amounts[0] === sight.costMicro
        )
          return [];
        return [`${sight.order.tag}: saw ${sight.costMicro}, entries [${amounts.join(', ')}]`];
      }),
    },
    {
      goal: 'no generation has two entries, no request two records',
      counts: `${usage.length} entries, ${accounting.generations.length} records`,
      faults: [
        ...[...entriesOf].filter(([, found]) => found.length > 1).map(([id]) => `${id} has several entries`),
        ...[...recordsOf]
          .filter(([tag, found]) => tag !== 'null' && found.length > 1)
          .map(([tag]) => `${tag} has several records`),
      ],
    },
    {
      goal: 'no errored or refused response has an entry',
      counts: `${of('errored').length} errored in band, ${refusals.length} refused`,
      faults: failures
        .filter((sight) => entriesFor(sight).length > 0)
        .map((sight) => `${sight.order.tag}: ${sight.kind}, and charged`),
    },
    {
      goal: 'a request whose end was not seen is charged at most once, and then as a success or as cancelled',
      counts: `${unseen.length} unseen (${unseen.filter((sight) => sight.leftByItself).length} hung up), ${unseenPaid.length} charged`,
      faults: unseenPaid.flatMap((sight) => {
        const ids = idsOf(sight);
        const record = recordById.get(ids[0] ?? '');
        const fine =
          ids.length === 1 &&
          entriesFor(sight).length === 1 &&
          record?.status === 200 &&
          record.error_type === null;
        return fine ? [] : [`${sight.order.tag}: ${JSON.stringify(record)}`];
      }),
    },
    {
      goal: 'every completed request has its record, and every entry a request',
      counts: `${responded.length} completed, ${sights.length} sent`,
      faults: [
        ...responded
          .filter((sight) => recordsOf.get(sight.order.tag)?.length !== 1)
          .map((sight) => `${sight.order.tag}: no record`),
        ...usage
          .filter((entry) => !recordById.has(String(entry.generation_id)))
          .map((entry) => `entry ${entry.id} has no record`),
      ],
    },
    {
      goal: 'a failed record costs nothing',
      counts: `${accounting.generations.filter((record) => record.status >= 400 || record.error_type !== null).length} failed records`,
      faults: accounting.generations
        .filter(
          (record) => (record.status >= 400 || record.error_type !== null) && microOf(record.cost_krw) !== 0n,
        )
        .map((record) => `${record.id} failed and cost ${record.cost_krw}`),
    },
    {
      goal: 'no refusals except those that the load provokes',
      counts: count(refusals.map((sight) => `${sight.status} ${sight.errorType}`)),
      faults: refusals
        .filter((sight) => !allowed.has(String(sight.errorType)))
        .map((sight) => `${sight.order.tag}: ${sight.status} ${sight.errorType}`),
    },
  ];
}

/** Whether the server's memory (`GET /credits`, `GET /key`) agrees with the ledger. */
export async function auditMemory(
  url: string,
  payers: readonly Payer[],
  entries: readonly JsonLine[],
  records: readonly JsonLine[],
): Promise<Goal> {
  const faults: string[] = [];
  let keys = 0;
  for (const payer of payers) {
    const sum = entries
      .filter((entry) => entry.account_id === payer.accountId)
      .reduce((total, entry) => total + microOf(entry.amount_krw), 0n);
    const used = new Map<string, bigint>();
    for (const record of records) {
      if (record.account_id !== payer.accountId) continue;
      const key = String(record.key_id);
      used.set(key, (used.get(key) ?? 0n) + microOf(record.cost_krw));
    }
    const spent: bigint[] = [];
    for (const { key } of payer.keys) {
      const { data: credits } = await readJson(`${url}/credits`, key);
      const balance = microOfNumber(credits.total_credits) - microOfNumber(credits.total_usage);
      if (balance !== sum)
        faults.push(`account ${payer.accountId}: GET /credits leaves ${balance}, the ledger ${sum}`);
      const { data } = await readJson(`${url}/key`, key);
      spent.push(microOfNumber(data.usage));
      keys += 1;
    }
    const inLedger = [...used.values()].filter((amount) => amount > 0n).sort(compare);
    const inMemory = spent.filter((amount) => amount > 0n).sort(compare);
    if (inLedger.join() !== inMemory.join())
      faults.push(
        `account ${payer.accountId}: GET /key reports [${inMemory}], the records sum to [${inLedger}]`,
      );
  }
  return {
    goal: 'GET /credits and GET /key agree with the ledger',
    counts: `${payers.length} accounts, ${keys} keys`,
    faults,
  };
}

/**
 * Prints one line for each goal and at most five of its faults; returns whether all goals are met.
 */
export function report(goals: readonly Goal[], print: (line: string) => void): boolean {
  for (const { goal, counts, faults } of goals) {
    print(
      `${faults.length === 0 ? 'met ' : 'MISSED'}  ${goal}: ${counts}${faults.length === 0 ? '' : `; ${faults.length} faults`}`,
    );
    for (const fault of faults.slice(0, 5)) print(`          ${fault}`);
  }
  return goals.every((goal) => goal.faults.length === 0);
}

/** Reads JSON from the server with a key; throws when the status is not 200. */
export function readJson(url: string, key: string): Promise<JsonLine> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { authorization: `Bearer ${key}` }, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      response.on('end', () => {
        if (response.statusCode === 200) resolve(JSON.parse(text));
        else reject(new Error(`${url}: ${response.statusCode} ${text}`));
      });
    }).on('error', reject);
  });
}

/** Exact micro-won of a decimal string in won. */
export function microOf(won: string): bigint {
  const [, sign, whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(won) ?? [];
  if (sign === undefined) throw new Error(`${won} is no amount`);
  const micro = BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0'));
  return sign === '-' ? -micro : micro;
}

function microOfNumber(won: number): bigint {
  return BigInt(Math.round(won * 1e6));
}

function groupBy(
  rows: readonly JsonLine[],
  nameOf: (row: JsonLine) => string,
): ReadonlyMap<string, readonly JsonLine[]> {
  return Map.groupBy(rows, nameOf);
}

function count(words: readonly string[]): string {
  const counts = [...Map.groupBy(words, (word) => word)].map(([word, all]) => `${all.length} × ${word}`);
  return counts.length === 0 ? 'none' : counts.sort().join(', ');
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
