import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createOperatorService } from '../../../src/operations/operator-service.ts';
import { Database } from '../../../src/store/database.ts';
import { countMigrations } from '../../../src/store/migrate.ts';
import { systemClock } from '../../../src/time/clock.ts';
import { startNginx } from '../../edge/nginx.ts';
import { createTestDatabase, urlOf } from '../../harness/database.ts';
import { freePort } from '../../harness/free-port.ts';
import { createPayer } from '../../harness/payer.ts';
import { until } from '../../harness/until.ts';
import { startUpstream } from '../../harness/upstream.ts';
import { auditHistory, type Goal, readLedger } from '../audit.ts';
import { type Load, startLoad } from '../load.ts';
import { createSite, type NaruProcess, type Site, startNaru } from '../naru-process.ts';
import { mustSucceed, scriptedReply } from '../orders.ts';
import type { Release } from './releases.ts';

/** A run of the drill. */
export interface UpgradeDrill {
  /** Before the newest migration, with it, and now. */
  readonly before: Release;
  readonly with: Release;
  readonly now: Release;
  readonly seed: number;
  /** How long releases serve side by side. */
  readonly besideMs: number;
  readonly print: (line: string) => void;
}

interface Server {
  readonly site: Site;
  naru: NaruProcess;
}

/**
 * Two servers behind nginx under load. They are replaced one after the other: from the release before
 * the newest migration to this one, back to the oldest with the same schema, and forward again.
 */
export async function runUpgradeDrill(drill: UpgradeDrill): Promise<readonly Goal[]> {
  await using open = new AsyncDisposableStack();
  const upstream = await startUpstream();
  open.defer(() => upstream.close());
  upstream.respond(({ body }) => scriptedReply(body));
  const shared = await createTestDatabase(null);
  open.defer(() => shared.drop());
  const over = {
    database: { url: urlOf(shared.address) },
    edge: { rate_limit: 'external', trusted_proxies: ['127.0.0.1'] },
  };
  const servers: Server[] = [];
  for (const port of [await freePort(), await freePort()]) {
    const site = createSite(upstream.url, over, port);
    open.defer(() => site.end());
    servers.push({ site, naru: await startNaru(site, [], drill.before.program) });
  }
  const nginx = await startNginx({ behind: servers.map(({ naru }) => naru.port), unlimited: true });
  open.defer(() => nginx.stop());
  const database = new Database(shared.address, 2);
  open.defer(() => database.close());
  return await new Drill(drill, servers, database).run(nginx.url);
}

class Drill {
  readonly #drill: UpgradeDrill;
  readonly #servers: readonly Server[];
  readonly #database: Database;
  readonly #goals: Goal[] = [];

  constructor(drill: UpgradeDrill, servers: readonly Server[], database: Database) {
    this.#drill = drill;
    this.#servers = servers;
    this.#database = database;
  }

  async run(url: string): Promise<readonly Goal[]> {
    const { before, now, seed } = this.#drill;
    const parts = { clock: systemClock, keyPrefix: 'sk-naru-', close: async () => {} };
    const operator = createOperatorService(this.#database, parts);
    const payers = [
      await createPayer(operator, '100000000', 2),
      await createPayer(operator, '70000000.123456', 2),
    ];
    await this.#doctor(before, 'before');
    const load = startLoad(url, payers, { clients: 6, seed, name: 'load', mayWait: true, pauseMs: 40 });
    await this.#roll(load, before, now);
    await this.#noReturn(before);
    await this.#roll(load, now, this.#drill.with);
    await this.#roll(load, this.#drill.with, now);
    await load.stop();
    for (const { naru } of this.#servers) await naru.stop();
    await this.#doctor(now, 'after');
    this.#goals.push(...auditHistory(load.sights, await readLedger(operator)));
    return this.#goals;
  }

  /** Replaces one server after the other, with a time in which both releases serve. */
  async #roll(load: Load, from: Release, to: Release): Promise<void> {
    const { print, besideMs } = this.#drill;
    const what = `${from.name} to ${to.name}`;
    print(`... ${what}: schema ${from.schema} to ${to.schema}`);
    const [beganMs, first] = [performance.now(), load.sights.length];
    const served = [0, 0];
    for (const [n, server] of this.#servers.entries()) {
      await server.naru.stop();
      server.naru = await startNaru(server.site, [], to.program);
      const { length } = load.sights;
      await sleep(besideMs);
      await until('the load goes on', () => load.sights.length > length + 20, 60_000);
      served[n] = load.sights.length - length;
    }
    const sights = load.sights.slice(first);
    const failed = sights.filter((one) => mustSucceed(one.order) && one.kind !== 'success');
    this.#goals.push({
      goal: `no request fails while servers are replaced, ${what}`,
      counts: `${sights.length} requests in ${Math.round((performance.now() - beganMs) / 1000)} s, ${served[0]} of them with both releases side by side`,
      faults: failed.map(({ order, kind, status }) => `${order.tag}: ${kind} ${status}`),
    });
  }

  /** The point of no return is the migration: an older release does not start behind it. */
  async #noReturn(old: Release): Promise<void> {
    const schema = await countMigrations(this.#database);
    const [server] = this.#servers;
    if (server === undefined) throw new Error('there is no server');
    // Its own directory: that of a running server is refused before the schema is read.
    const dataDir = mkdtempSync(join(tmpdir(), 'naru-older-'));
    const started = run(old, ['up', '--json', '--port', '0'], { ...server.site, dataDir });
    const { code, text } = await started.finally(() => rmSync(dataDir, { recursive: true, force: true }));
    const isRefused = code !== 0 && /this version of Naru does not know/.test(text);
    this.#goals.push({
      goal: 'the migration is the point of no return: the older release does not start, and says why',
      counts: `schema ${schema}, ${old.name} knows ${old.schema}; exit code ${code}`,
      faults: isRefused ? [] : [text.slice(-500)],
    });
  }

  async #doctor(release: Release, when: string): Promise<void> {
    const [server] = this.#servers;
    if (server === undefined) throw new Error('there is no server');
    const { code, text } = await run(release, ['doctor', '--json'], server.site);
    this.#goals.push({
      goal: `naru doctor of ${release.name} finds nothing ${when} the upgrade`,
      counts: `exit code ${code}`,
      faults: code === 0 ? [] : [text.slice(-2_000)],
    });
  }
}

/** Runs a command of a release at a site; the text is both outputs. */
function run(
  { program }: Release,
  args: readonly string[],
  { configFile, dataDir }: Site,
): Promise<{ readonly code: number; readonly text: string }> {
  const paths = ['--config', configFile, '--data-dir', dataDir];
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [program, ...args, ...paths],
      { timeout: 60_000, killSignal: 'SIGKILL' },
      (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), text: `${out}${err}` });
      },
    );
  });
}
