import { type Cell, csvHead, csvLines } from '../wire/csv.ts';
import { PageReply } from './page-reply.ts';

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

function fileOf(name: string) {
  return {
    contentType: 'text/csv; charset=utf-8',
    headers: { 'Content-Disposition': `attachment; filename="${name}"` },
  };
}
