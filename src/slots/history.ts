import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A start of which nothing is known takes this long, or its whole budget if that is less (design.md, E1). */
const firstGuessMs = 10_000;

/** Starts that are remembered: enough for a median, few enough to follow a changed engine. */
const remembered = 5;

/** The history with one more start at its end, cut to the starts that count. */
export function withStart(history: readonly number[], durationMs: number): readonly number[] {
  return [...history, Math.round(durationMs)].slice(-remembered);
}

/** How long a start takes: the median of the remembered ones, since one start from a cold disk says little about the next. */
export function expectedStartMs(history: readonly number[], startBudgetMs: number): number {
  const sorted = history.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Math.min(startBudgetMs, firstGuessMs);
}

/** The history kept in `dir`; empty when there is none, or none that can be read. */
export async function readHistory(dir: string): Promise<readonly number[]> {
  try {
    const parsed: unknown = JSON.parse(await readFile(join(dir, 'history.json'), 'utf8'));
    const starts =
      typeof parsed === 'object' && parsed !== null && 'startsMs' in parsed ? parsed.startsMs : [];
    if (!Array.isArray(starts)) return [];
    return starts.filter((ms): ms is number => Number.isFinite(ms) && ms >= 0).slice(-remembered);
  } catch {
    return [];
  }
}

/** Keeps the history in `dir`, whole or not at all. */
export async function writeHistory(dir: string, history: readonly number[]): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const fresh = join(dir, 'history.json.new');
  await writeFile(fresh, `${JSON.stringify({ startsMs: history })}\n`, { mode: 0o600 });
  await rename(fresh, join(dir, 'history.json'));
}
