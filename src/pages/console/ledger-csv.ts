import { accountsAfter, type MonthLine, monthLines } from '../../ledger/month-lines-sql.ts';
import { krwOfMicro, krwToDecimal } from '../../money/krw.ts';
import type { ExportRow } from '../../operations/month-end.ts';
import type { Database } from '../../store/database.ts';
import { seoulIsoOf } from '../../time/period.ts';
import type { Cell } from '../../wire/csv.ts';
import { type GenerationUuid, generationIdOf } from '../../wire/ids/generation-id.ts';
import { csvStream } from '../csv-stream.ts';
import type { PageReply } from '../page-reply.ts';

const header = [
  'Account',
  'Account name',
  'Day (KST)',
  'Time (KST)',
  'Kind',
  'Amount (KRW)',
  'Requests',
  'Entry',
  'Generation',
  'Memo',
];
/** Accounts of one read. */
const accountsOfRead = 200;

/**
 * The ledger of the Seoul days from `fromDay` to before `toDay` as a file, read some accounts at a
 * time: a file of any size is never in memory.
 */
export function ledgerCsv(
  reads: Database,
  of: {
    readonly name: string;
    readonly fromDay: string;
    readonly toDay: string;
    readonly onlyAccount: number | null;
    readonly signal: AbortSignal;
  },
): PageReply {
  const { name, onlyAccount, signal, ...days } = of;
  async function* rows(): AsyncGenerator<readonly (readonly Cell[])[]> {
    for (let afterId = 0; !signal.aborted; ) {
      const accounts = await accountsAfter(reads, { afterId, onlyAccount, limit: accountsOfRead });
      const last = accounts.at(-1);
      if (last === undefined) return;
      yield (await monthLines(reads, { accounts, ...days })).map(cellsOf);
      afterId = last;
    }
  }
  return csvStream(name, header, rows());
}

function cellsOf(line: MonthLine): readonly Cell[] {
  return [
    line.accountId,
    line.accountName,
    line.day,
    line.createdAtMs === null ? null : seoulIsoOf(line.createdAtMs).slice(11, 19),
    line.kind,
    krwToDecimal(krwOfMicro(line.amountMicro)),
    line.requests,
    line.entryId,
    line.refundOf === null ? null : generationIdOf(line.refundOf as GenerationUuid),
    line.memo,
  ];
}

/** Rows of an export of the command line as a file of the console. */
export function exportCsv(
  name: string,
  columns: readonly string[],
  rows: AsyncIterable<ExportRow>,
): PageReply {
  async function* cells(): AsyncGenerator<readonly (readonly Cell[])[]> {
    for await (const row of rows) yield [columns.map((column) => row[column] ?? null)];
  }
  return csvStream(name, columns, cells());
}
