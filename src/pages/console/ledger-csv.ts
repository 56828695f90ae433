import { accountsAfter, type MonthLine, monthLines } from '../../ledger/month-lines-sql.ts';
import { krwOfMicro, krwToDecimal } from '../../money/krw.ts';
import type { Database } from '../../store/database.ts';
import { seoulIsoOf } from '../../time/period.ts';
import type { Cell } from '../../wire/csv.ts';
import { type GenerationUuid, generationIdOf } from '../../wire/ids/generation-id.ts';
import { csvStream } from '../csv-stream.ts';
import type { PageReply } from '../page-reply.ts';

/** The headings, in the order of `cellsOf`. */
const headings = {
  ko: '계정 ID,계정,날짜 (KST),시각 (KST),종류,금액 (KRW),요청,원장 항목,생성 ID,메모',
  en: 'Account ID,Account,Day (KST),Time (KST),Kind,Amount (KRW),Requests,Ledger entry,Generation ID,Memo',
} as const;
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
    readonly language: keyof typeof headings;
    readonly fromDay: string;
    readonly toDay: string;
    readonly onlyAccount: number | null;
    readonly signal: AbortSignal;
  },
): PageReply {
  const { name, language, onlyAccount, signal, ...days } = of;
  async function* rows(): AsyncGenerator<readonly (readonly Cell[])[]> {
    for (let afterId = 0; !signal.aborted; ) {
      const accounts = await accountsAfter(reads, { afterId, onlyAccount, limit: accountsOfRead });
      const last = accounts.at(-1);
      if (last === undefined) return;
      yield (await monthLines(reads, { accounts, ...days })).map(cellsOf);
      afterId = last;
    }
  }
  return csvStream(name, headings[language].split(','), rows());
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
