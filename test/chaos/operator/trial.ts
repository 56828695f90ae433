import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startS3Server } from '../../backup/s3-server.ts';
import { ownBinDir, startOwnPostgres } from '../../harness/own-postgres.ts';
import { TossEmulator } from '../../harness/toss.ts';
import { startUpstream } from '../../harness/upstream.ts';
import { startProvider } from '../../identity/openid-provider.ts';
import { backUp, change, grow, loseEverything } from './grow.ts';
import { Machine } from './machine.ts';
import { endMonth, liveThroughMonth } from './month.ts';
import { allCommands } from './pages.ts';
import { start } from './start.ts';
import { consoleSite, Edge, ports, type StepDone, site, Trial } from './steps.ts';

/**
 * The trial of a new operator, who has the documents alone: each step runs the commands of a page as
 * they stand there, then checks what the page promises.
 */

export interface TrialOptions {
  /** A few days in place of a month. */
  readonly quick: boolean;
  readonly print: (line: string) => void;
}

/** Runs all steps; throws at the first that does not do what its page promises. */
export async function runTrial({ quick, print }: TrialOptions): Promise<readonly StepDone[]> {
  const folder = mkdtempSync(join(tmpdir(), 'naru-operator-'));
  chmodSync(folder, 0o755);
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const later = <T>(opened: T, close: (opened: T) => unknown): T => {
    closing.push(() => close(opened));
    return opened;
  };
  const redirectUris = [`${site}/dashboard`, `${consoleSite}/console`].map(
    (pages) => `${pages}/api/sign-in/oidc/callback`,
  );
  try {
    const s3 = later(await startS3Server(), (server) => server.stop());
    const upstream = later(await startUpstream(), (server) => server.close());
    const issuer = later(await startProvider(...redirectUris), (provider) => provider.stop());
    const toss = later(await TossEmulator.start(), (emulator) => emulator.close());
    const postgres = later(
      await startOwnPostgres(await ownBinDir(folder), undefined, { fsync: 'on' }),
      (server) => server.stop(),
    );
    const edge = later(new Edge(), (nginx) => nginx.stop());
    const machines = (['first', 'second'] as const).map((name) => {
      return later(new Machine(join(folder, name), ports[name], site, edge.hands), (machine) =>
        machine.loseUnit(),
      );
    }) as [Machine, Machine];
    const trial = new Trial({ machines, edge, issuer, s3, upstream, toss, postgres, quick, print });
    for (const phase of [start, backUp, loseEverything, change, grow, liveThroughMonth, endMonth])
      await phase(trial);
    const missing = allCommands().filter((command) => !trial.ran.has(command));
    assert.deepEqual(missing, [], 'commands of the pages that no step runs');
    return trial.done;
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}
