import type { AppPeriod, AppRow, PeriodDays } from './apps-sql.ts';
import { type Day, instantOf, lastCompletedDay, monthStart } from './days.ts';

/** Sample periods are the calendar months that are over, this many of them. */
const months = 3;
const apps = 120;

const places = ['한강', '남산', '서울숲', '해운대', '설악', '경포', '다도해', '백록담', '섬진강', '오죽헌'];
const kinds = [
  { name: '코드', category: 'coding', subcategory: 'cli-agent' },
  { name: '편집기', category: 'coding', subcategory: 'ide-extension' },
  { name: '글방', category: 'creative', subcategory: 'creative-writing' },
  { name: '비서', category: 'productivity', subcategory: 'personal-agent' },
  { name: '이야기', category: 'entertainment', subcategory: 'roleplay' },
  { name: '수다', category: 'productivity', subcategory: null },
];
const mark = ' (샘플)';

/**
 * The sample period that is shown without a sync key (spec:api/18.19): the last calendar month that
 * is over and ends on or before `endDay`; null when that is before all of them. The same at every
 * call within a month.
 */
export function sampleAppPeriod(endDay: Day | null, nowMs: number): AppPeriod | null {
  const today = lastCompletedDay(nowMs) + 1;
  for (let back = 0; back < months; back += 1) {
    const nextStart = monthStart(today, -back);
    const end = nextStart - 1;
    if (endDay !== null && end > endDay) continue;
    const atMs = instantOf(nextStart);
    const rows = Array.from({ length: apps }, (_, index) => sampleRow(index + 1, back));
    return { startDay: monthStart(end), endDay: end, asOfMs: atMs, syncedAtMs: atMs, rows };
  }
  return null;
}

/** The days of all sample periods, the latest first. */
export function samplePeriodDays(nowMs: number): readonly PeriodDays[] {
  const today = lastCompletedDay(nowMs) + 1;
  return Array.from({ length: months }, (_, back) => {
    const endDay = monthStart(today, -back) - 1;
    return { startDay: monthStart(endDay), endDay };
  });
}

function sampleRow(rank: number, back: number): AppRow {
  const kind = kinds[rank % kinds.length];
  const round = Math.ceil(rank / places.length);
  const name = `${places[rank % places.length]} ${kind?.name} ${round}${mark}`;
  // The first exceeds a JavaScript number: a client that parses these must support that.
  const tokens = 98_765_432_109_876_543_210n / BigInt(rank * rank * (back + 1));
  return {
    rank,
    appId: 900_000 + rank,
    appName: name,
    totalTokens: String(tokens),
    totalRequests: Math.floor(9_000_000 / (rank * (back + 1))),
    url: `https://sample-${rank}.example/`,
    description: '지어낸 예시입니다. An invented example.',
    category: kind?.category ?? null,
    subcategory: kind?.subcategory ?? null,
    // The oldest period has none before it; every seventh app is new.
    growthPct: back === months - 1 || rank % 7 === 0 ? null : ((rank * 37) % 400) / 10 - 12,
  };
}
