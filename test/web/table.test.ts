import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Column, compareValues } from '../../web/src/ui/table/column.ts';
import { exportRows } from '../../web/src/ui/table/export-rows.ts';

interface Row {
  readonly atMs: number;
  readonly name: string;
  readonly micro: bigint;
  readonly waitMs: number | null;
}

const columns: readonly Column<Row>[] = [
  { id: 'at', header: '시각', kind: 'time', cell: () => null, value: ({ atMs }) => atMs },
  { id: 'name', header: '이름', cell: () => null, value: ({ name }) => name },
  { id: 'cost', header: '비용', kind: 'money', cell: () => null, value: ({ micro }) => micro },
  {
    id: 'firstToken',
    header: '대기',
    kind: 'number',
    unit: 'ms',
    cell: () => null,
    value: ({ waitMs }) => waitMs,
  },
  { id: 'actions', header: '작업', kind: 'actions', cell: () => null },
];
const rows: readonly Row[] = [
  { atMs: Date.UTC(2026, 0, 1, 15), name: '=HYPERLINK("http://x")', micro: -1_500_000n, waitMs: 12 },
  { atMs: Date.UTC(2026, 0, 2), name: 'a, "b"\n', micro: 10n ** 21n, waitMs: null },
];

test('a CSV file has a byte order mark, Seoul times, exact won, and no formula', async () => {
  const { parts, count } = await exportRows(columns, [rows], 'csv');
  assert.equal(count, 2);
  assert.equal(
    parts.join(''),
    '\uFEFF시각 (KST),이름,비용 (KRW),대기 (ms)\r\n' +
      '2026-01-02 00:00:00,"\'=HYPERLINK(""http://x"")",-1.500000,12\r\n' +
      '2026-01-02 09:00:00,"a, ""b""\n",1000000000000000.000000,\r\n',
  );
});

test('a JSON file has ISO times in UTC and won as text, whatever the reads are', async () => {
  const [first, second] = rows;
  const { parts, count } = await exportRows(columns, [[], [first as Row], [], [second as Row]], 'json');
  const read = JSON.parse(parts.join(''));
  assert.deepEqual([read.length, count], [2, 2]);
  assert.deepEqual(read[0], {
    at: '2026-01-01T15:00:00.000Z',
    name: '=HYPERLINK("http://x")',
    cost_krw: '-1.500000',
    first_token_ms: 12,
  });
  assert.equal((await exportRows(columns, [], 'json')).parts.join(''), '[]\n');
});

test('rows are ordered by value: amounts exactly, texts with their numbers, nothing first', () => {
  const sorted = [10n ** 20n + 1n, null, 10n ** 20n, -1n].toSorted(compareValues);
  assert.deepEqual(sorted, [null, -1n, 10n ** 20n, 10n ** 20n + 1n]);
  assert.deepEqual(['gpu-10', 'gpu-9', '가', '나'].toSorted(compareValues), ['가', '나', 'gpu-9', 'gpu-10']);
});
