import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
/**
 * The most test files that share a process. The first file of a process pays for its imports and for
 * compiling what all files call: two seconds of processor time for each process.
 */
const maxFilesPerProcess = 100;
/**
 * The most neighbours of a folder that stay together in a process. With ten, one process had two and
 * a half times the processor time of another; with three, a third more.
 */
const maxRun = 3;

/**
 * The slowest files, which mostly wait. Each process begins with its share of them, so that none is
 * left at the end, when the cores have nothing else to do.
 */
export const slowFiles: readonly string[] = [
  'test/watching/alerts.test.ts',
  'test/slots/k8s-scale.test.ts',
  'test/chaos/journal-away.test.ts',
  'test/chaos/database-faults.test.ts',
  'test/nodes/lost-node.test.ts',
  'test/nodes/registry.test.ts',
  'test/fuzz/fuzz.test.ts',
  'test/postgres/embedded-crash.test.ts',
  'test/inference/time-limits.test.ts',
  'test/nodes/workers.test.ts',
  'test/edge/rolling-restart.test.ts',
  'test/slots/faults.test.ts',
  'test/sim/sim.test.ts',
  'test/api/request-schema.test.ts',
];

/** The files of a browser run for minutes and share it: their processes start first. */
const browserFolder = 'test/browser/';
const browserProcesses = 1;

/** Files that measure or change their process, with the reason; no other file shares theirs. */
export const ownProcess: Readonly<Record<string, string>> = {
  'test/dialects/lazy.test.ts': 'finds out which packages the process has loaded',
  'test/security/shredded-bodies.test.ts': 'measures the memory of the process',
  'test/security/resets.test.ts': 'collects the uncaught errors of the process',
};

/**
 * Divides test files among processes: each file is in exactly one. `atOnce` processes run at a
 * time, and there are at least as many of them as there are files for. Those that several files
 * share all begin at once: none begins when another ends, and leaves a core without work at the end.
 */
export function processesOf(files: readonly string[], atOnce: number): readonly (readonly string[])[] {
  const isBrowser = (file: string): boolean => file.startsWith(browserFolder);
  const browser = files.filter(isBrowser);
  const alone = files.filter((file) => file in ownProcess);
  const slow = slowFiles.filter((file) => files.includes(file));
  const rest = files.filter((file) => !isBrowser(file) && !(file in ownProcess) && !slow.includes(file));
  const sharing = slow.length + rest.length;
  const beside = Math.min(browserProcesses, browser.length);
  const wanted = Math.min(Math.max(atOnce - beside, 1), sharing);
  const count = Math.max(wanted, Math.ceil(sharing / maxFilesPerProcess));
  const runSize = Math.min(maxRun, Math.ceil(rest.length / count));
  return [
    ...deal([browser], beside),
    ...deal([...slow.map((file) => [file]), ...runsOf(rest, runSize)], count),
    ...alone.map((file) => [file]),
  ];
}

/**
 * Neighbours of one folder, `size` of them at most: they import the same packages, but all files of
 * a large folder last long together.
 */
function runsOf(files: readonly string[], size: number): readonly (readonly string[])[] {
  const folders = Map.groupBy(files, dirname);
  return [...folders.values()].flatMap((inFolder) =>
    Array.from({ length: Math.ceil(inFolder.length / size) }, (_, n) =>
      inFolder.slice(n * size, (n + 1) * size),
    ),
  );
}

/** As many groups, or fewer of fewer runs; each run in turn is put where the fewest files are. */
function deal(runs: readonly (readonly string[])[], count: number): readonly (readonly string[])[] {
  const groups = Array.from({ length: count }, (): string[] => []);
  for (const run of runs) {
    const [smallest] = groups.toSorted((one, other) => one.length - other.length);
    smallest?.push(...run);
  }
  return groups.filter((group) => group.length > 0);
}

/** Programs for `node --test`, one for each process, whose names are in the order of the list. */
export interface Programs {
  readonly files: readonly string[];
  /** Where each process lists its test files, with their costs, when all of them have ended. */
  readonly endedFile: string;
  /** The processor seconds of each file that ended, and of all imports; empty if unknown. */
  costs(): ReadonlyMap<string, number>;
  /** The test files of the processes that ended early. */
  unfinished(): readonly string[];
  remove(): void;
}

/** Writes the programs into a temporary folder; `remove` deletes it. */
export function writePrograms(processes: readonly (readonly string[])[]): Programs {
  const dir = mkdtempSync(join(tmpdir(), 'naru-programs-'));
  const endedFile = join(dir, 'ended');
  writeFileSync(endedFile, '');
  const runner = JSON.stringify(join(root, 'test/harness/run-files.ts'));
  const files = processes.map((group, n) => {
    const file = join(dir, `${String(n).padStart(3, '0')}.mjs`);
    writeFileSync(file, `import { runFiles } from ${runner};\nrunFiles(${JSON.stringify(group)});\n`);
    return file;
  });
  return {
    files,
    endedFile,
    costs() {
      const costs = new Map<string, number>();
      for (const [name = '', seconds] of lines(endedFile))
        if (seconds !== undefined) costs.set(name, (costs.get(name) ?? 0) + Number(seconds));
      return costs;
    },
    unfinished() {
      const ended = new Set(lines(endedFile).map(([file]) => file));
      return processes.flat().filter((file) => !ended.has(file));
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

function lines(file: string): readonly (readonly string[])[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.split('\t'));
}
