import type { Language } from './money.ts';

/**
 * Instants in Asia/Seoul. Seoul has been UTC+9 without daylight saving since 1988, so its civil time
 * is arithmetic; the test compares it with ICU.
 */
const offsetMs = 9 * 3_600_000;
const dayMs = 86_400_000;
const weekdays = {
  ko: ['일', '월', '화', '수', '목', '금', '토'],
  en: ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'],
} as const;
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const;

/** An instant: ISO 8601 as the API sends it, or epoch milliseconds. */
export type Instant = string | number;

/** How much of an instant is shown. */
export type TimeStyle = 'date' | 'minute' | 'second' | 'millisecond' | 'clock' | 'day' | 'hour';

/** Civil time in Seoul. */
export interface SeoulTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly weekday: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly millisecond: number;
}

/** Epoch milliseconds of an instant. Throws when the text is no instant. */
export function epochMs(instant: Instant): number {
  const ms = typeof instant === 'number' ? instant : Date.parse(instant);
  if (!Number.isFinite(ms)) throw new Error(`not an instant: ${JSON.stringify(instant)}`);
  return ms;
}

/** The civil time in Seoul of an instant. */
export function seoulTime(instant: Instant): SeoulTime {
  const date = new Date(epochMs(instant) + offsetMs);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    weekday: date.getUTCDay(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    millisecond: date.getUTCMilliseconds(),
  };
}

/**
 * An instant in Seoul time: `2026-11-22 14:05` and, by style, less or more of it. `day` is a label of
 * an axis (`11월 22일 (일)`, `Nov 22 (Sun)`).
 */
export function formatTime(instant: Instant, language: Language, style: TimeStyle = 'minute'): string {
  const at = seoulTime(instant);
  const date = `${at.year}-${two(at.month)}-${two(at.day)}`;
  const clock = `${two(at.hour)}:${two(at.minute)}`;
  switch (style) {
    case 'date':
      return date;
    case 'minute':
      return `${date} ${clock}`;
    case 'second':
      return `${date} ${clock}:${two(at.second)}`;
    case 'millisecond':
      return `${date} ${clock}:${two(at.second)}.${String(at.millisecond).padStart(3, '0')}`;
    case 'clock':
      return `${clock}:${two(at.second)}`;
    case 'hour':
      return language === 'ko' ? `${at.hour}시` : `${two(at.hour)}:00`;
    case 'day': {
      const weekday = weekdays[language][at.weekday];
      return language === 'ko'
        ? `${at.month}월 ${at.day}일 (${weekday})`
        : `${months[at.month - 1]} ${at.day} (${weekday})`;
    }
  }
}

/** `11/22` or `Nov 22`: the shortest label of a day, for axes. */
export function formatDayShort(instant: Instant, language: Language): string {
  const { month, day } = seoulTime(instant);
  return language === 'ko' ? `${month}/${day}` : `${months[month - 1]} ${day}`;
}

/** `2026년 11월` or `Nov 2026`: the Seoul month of an instant. */
export function formatMonth(instant: Instant, language: Language): string {
  const { year, month } = seoulTime(instant);
  return language === 'ko' ? `${year}년 ${month}월` : `${months[month - 1]} ${year}`;
}

/** `방금`, `30초 전`, `3시간 후`; `just now`, `30 s ago`, `in 3 h`. Rounded down. */
export function formatRelative(instant: Instant, nowMs: number, language: Language): string {
  const distanceMs = epochMs(instant) - nowMs;
  const seconds = Math.floor(Math.abs(distanceMs) / 1000);
  if (seconds < 5) return language === 'ko' ? '방금' : 'just now';
  const [count, unit] = largestUnit(seconds);
  const amount = language === 'ko' ? `${count}${unit.ko}` : `${count} ${unit.en}`;
  if (distanceMs > 0) return language === 'ko' ? `${amount} 후` : `in ${amount}`;
  return language === 'ko' ? `${amount} 전` : `${amount} ago`;
}

/** `850ms`, `1.25초`, `2분 5초`; `850 ms`, `1.25 s`, `2 min 5 s`. */
export function formatDuration(durationMs: number, language: Language): string {
  const ko = language === 'ko';
  if (durationMs < 0.95) return ko ? `${trim(durationMs, 2)}ms` : `${trim(durationMs, 2)} ms`;
  if (durationMs < 999.5) return ko ? `${Math.round(durationMs)}ms` : `${Math.round(durationMs)} ms`;
  if (durationMs < 59_995) {
    const seconds = trim(durationMs / 1000, durationMs < 9_995 ? 2 : 1);
    return ko ? `${seconds}초` : `${seconds} s`;
  }
  const total = Math.round(durationMs / 1000);
  const parts: readonly (readonly [count: number, ko: string, en: string])[] = [
    [Math.floor(total / 86_400), '일', 'd'],
    [Math.floor((total % 86_400) / 3600), '시간', 'h'],
    [Math.floor((total % 3600) / 60), '분', 'min'],
    [total % 60, '초', 's'],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, koUnit, enUnit]) => (ko ? `${count}${koUnit}` : `${count} ${enUnit}`))
    .join(' ');
}

/** A duration on an axis that ends at `maxMs`: all labels in the same unit. */
export function formatDurationAxis(durationMs: number, maxMs: number, language: Language): string {
  const inSeconds = maxMs >= 1000;
  const value = Number((inSeconds ? durationMs / 1000 : durationMs).toFixed(3));
  const unit = inSeconds ? (language === 'ko' ? '초' : ' s') : language === 'ko' ? 'ms' : ' ms';
  return `${value}${unit}`;
}

/** The instant at which a Seoul calendar day begins; `day` is `YYYY-MM-DD`. Null when it is no day. */
export function startOfDay(day: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) return null;
  const ms = Date.parse(`${day}T00:00:00Z`);
  return Number.isFinite(ms) && new Date(ms).toISOString().startsWith(day) ? ms - offsetMs : null;
}

/** The Seoul calendar day of an instant, `YYYY-MM-DD`, moved by whole days. */
export function seoulDay(instant: Instant, laterDays = 0): string {
  return new Date(epochMs(instant) + offsetMs + laterDays * dayMs).toISOString().slice(0, 10);
}

/** The first day of the Seoul month of an instant, `YYYY-MM-DD`. */
export function seoulMonthStart(instant: Instant): string {
  return `${seoulDay(instant).slice(0, 7)}-01`;
}

/** The Seoul months from that of an instant to that of another, the latest first, `YYYY-MM`. */
export function seoulMonths(from: Instant, to: Instant): readonly string[] {
  const first = seoulDay(from).slice(0, 7);
  const found: string[] = [];
  for (let at = seoulMonthStart(to); at.slice(0, 7) >= first; at = seoulMonthStart(inMonthBefore(at)))
    found.push(at.slice(0, 7));
  return found;
}

/** An instant in the month before the one that begins on a day. */
function inMonthBefore(day: string): number {
  return (startOfDay(day) ?? 0) - dayMs;
}

function largestUnit(seconds: number): readonly [number, { readonly ko: string; readonly en: string }] {
  if (seconds < 60) return [seconds, { ko: '초', en: 's' }];
  if (seconds < 3600) return [Math.floor(seconds / 60), { ko: '분', en: 'min' }];
  if (seconds < 86_400) return [Math.floor(seconds / 3600), { ko: '시간', en: 'h' }];
  const days = Math.floor(seconds / 86_400);
  return [days, { ko: '일', en: days === 1 ? 'day' : 'days' }];
}

function trim(value: number, decimals: number): string {
  return String(Number(value.toFixed(decimals)));
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
