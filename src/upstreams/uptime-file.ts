import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const count = z.int().min(0).max(0xffff_ffff);
const shape = z.record(z.string(), z.array(z.tuple([z.int().min(0), count, count])));

/** Completed attempts by candidate: epoch milliseconds, successes, failures. */
export type KeptAttempts = Readonly<
  Record<string, readonly (readonly [atMs: number, worked: number, failed: number])[]>
>;

/** The attempts that an earlier process kept in `dir`; none when there is no readable file. */
export async function readUptime(dir: string): Promise<KeptAttempts> {
  try {
    return shape.parse(JSON.parse(await readFile(join(dir, 'uptime.json'), 'utf8')));
  } catch {
    return {};
  }
}

/** Keeps the attempts in `dir`, atomically. */
export async function writeUptime(dir: string, kept: KeptAttempts): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const fresh = join(dir, 'uptime.json.new');
  await writeFile(fresh, JSON.stringify(kept), { mode: 0o600 });
  await rename(fresh, join(dir, 'uptime.json'));
}
