import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Mutation, mutations } from './mutations.ts';

const root = join(import.meta.dirname, '../..');

/** Most mutations need no more; the others are tried in as many worlds as requested. */
const fewSeeds = 200;

/** A file's text with one mutation; throws unless the text to change occurs in it exactly once. */
export function mutated(source: string, { name, from, to }: Pick<Mutation, 'name' | 'from' | 'to'>): string {
  const parts = source.split(from);
  if (parts.length !== 2) throw new Error(`${name}: its text occurs in the file ${parts.length - 1} times`);
  return parts.join(to);
}

/**
 * Applies each mutation to a copy of the sources, and simulates until a world is wrong; one line
 * for each. Resolves with whether all were caught. `only`: those whose name contains this.
 */
export async function runMutations(
  orders: { readonly seeds: number; readonly steps: number; readonly only: string },
  print: (line: string) => void,
): Promise<boolean> {
  const copy = await mkdtemp(join(tmpdir(), 'naru-sim-'));
  try {
    for (const part of ['src', 'test/sim', 'test/harness', 'package.json'])
      await cp(join(root, part), join(copy, part), { recursive: true });
    await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
    const chosen = mutations.filter(({ name }) => name.includes(orders.only));
    let caught = 0;
    for (const mutation of chosen) {
      const path = join(copy, mutation.file);
      const original = await readFile(path, 'utf8');
      await writeFile(path, mutated(original, mutation));
      const found =
        (await firstWrong(copy, { ...orders, seeds: fewSeeds })) ?? (await firstWrong(copy, orders));
      await writeFile(path, original);
      if (found !== null) caught += 1;
      print(`${found === null ? 'NOT CAUGHT' : `caught at ${found}`}: ${mutation.name} (${mutation.file})`);
    }
    print(`${caught} of ${chosen.length} mutations were caught within ${orders.seeds} seeds`);
    return caught === chosen.length && chosen.length > 0;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/**
 * The simulator's result for the copy: the seed and what did not hold, or the goals that were never
 * met; null when nothing was found.
 */
async function firstWrong(
  copy: string,
  { seeds, steps }: { readonly seeds: number; readonly steps: number },
): Promise<string | null> {
  const args = ['test/sim/sim.ts', '--seeds', String(seeds), '--steps', String(steps), '--twice', '0'];
  const child = spawn(process.execPath, args, { cwd: copy, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (piece: Buffer) => {
    output += piece.toString('utf8');
  });
  child.stderr.on('data', (piece: Buffer) => {
    output += piece.toString('utf8');
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  if (code === 0) return null;
  const seed = /^SEED (\d+) FAILED: (.*)$/m.exec(output);
  if (seed !== null) return `seed ${seed[1]}, ${seed[2]}`;
  const never = /^NEVER: (.*)$/m.exec(output);
  if (never !== null) return `the end, never met: ${never[1]}`;
  throw new Error(`the simulator ended with ${code}:\n${output.slice(-2_000)}`);
}
