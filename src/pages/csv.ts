import { type Cell, csvHead, csvLines } from '../wire/csv.ts';
import { PageReply } from './page-reply.ts';

/** The rows of one read. */
const rowsOfRead = 5_000;

/** The last line of a file whose rows could not be read to the end. */
export const incompleteLine =
  '내보내기가 중단되어 파일이 완전하지 않습니다. / The export was interrupted; the file is incomplete.';

/**
 * A CSV file for a spreadsheet; `name` has no quotes. Written as
 * the rows are read, some at a time: a file of any size is never in memory.
 */
export function csvStream(
  name: string,
  header: readonly string[],
  rows: AsyncIterable<readonly (readonly Cell[])[]>,
): PageReply {
  return new PageReply({
    ...fileOf(name),
    async stream(sink) {
      await sink.write(csvHead(header));
      try {
        for await (const some of rows) if (some.length > 0) await sink.write(csvLines(some));
      } catch {
        // The head is sent: only the file itself can report it.
        await sink.write(csvLines([[incompleteLine]]));
      }
    },
  });
}

/**
 * The rows of a list for a file, from reads of `limit` rows after the last row of the one before.
 * Ends early when nobody waits for the file.
 */
export async function* rowsInReads<Row>(
  read: (after: Row | null, limit: number) => Promise<readonly Row[]>,
  cellsOf: (row: Row) => readonly Cell[],
  signal: AbortSignal,
): AsyncGenerator<readonly (readonly Cell[])[]> {
  for (let after: Row | null = null; !signal.aborted; ) {
    const rows: readonly Row[] = await read(after, rowsOfRead);
    yield rows.map(cellsOf);
    after = rows.at(-1) ?? null;
    if (rows.length < rowsOfRead) return;
  }
}

function fileOf(name: string) {
  return {
    contentType: 'text/csv; charset=utf-8',
    headers: { 'Content-Disposition': `attachment; filename="${name}"` },
  };
}
