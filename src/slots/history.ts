import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The assumed duration of a first start, or its whole budget if that is less (design.md, E1). */
const firstGuessMs = 10_000;

/** Starts kept in the history: enough for a median, few enough to follow a changed engine. */
const maxStarts = 5;

/** The history with one more start at its end, cut to the starts that count. */
export function withStart(history: readonly number[], durationMs: number): readonly number[] {
  return [...history, Math.round(durationMs)].slice(-maxStarts);
}

/**
 * The expected duration of a start: the median of the history, because one start from a cold disk
 * is not typical.
 */
export function expectedStartMs(history: readonly number[], startBudgetMs: number): number {
  const sorted = history.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Math.min(startBudgetMs, firstGuessMs);
}

/** The history stored in `dir`; empty when there is none, or it is unreadable. */
export async function readHistory(dir: string): Promise<readonly number[]> {
  try {
    const parsed: unknown = JSON.parse(await readFile(join(dir, 'history.json'), 'utf8'));
    const starts =
      typeof parsed === 'object' && parsed !== null && 'startsMs' in parsed ? parsed.startsMs : [];
    if (!Array.isArray(starts)) return [];
    return starts.filter((ms): ms is number => Number.isFinite(ms) && ms >= 0).slice(-maxStarts);
  } catch {
    return [];
  }
}

/** Stores the history in `dir`, atomically. */
export async function writeHistory(dir: string, history: readonly number[]): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const fresh = join(dir, 'history.json.new');
  await writeFile(fresh, `${JSON.stringify({ startsMs: history })}\n`, { mode: 0o600 });
  await rename(fresh, join(dir, 'history.json'));
}
