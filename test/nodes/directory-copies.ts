import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Database } from '../../src/store/database.ts';
import { createInstallation, type Installation, type Serving } from '../cli/naru.ts';
import { createTestDatabase, type TestDatabase, urlOf } from '../harness/database.ts';
import { echoConfig } from '../harness/echo-config.ts';
import { createOnePayer, operatorOn } from '../harness/payer.ts';
import { reply, startUpstream, usage } from '../harness/upstream.ts';

/** One database and one upstream, and directories whose servers use both. */
export async function createWorld(t: TestContext) {
  const homes = [await createTestDatabase()];
  const [home] = homes;
  assert.ok(home !== undefined);
  const upstream = await startUpstream();
  upstream.always(reply.chat('hello there', { usage: usage(10, 5) }));
  const servers: Serving[] = [];
  const installations: Installation[] = [];
  const database = new Database(home.address, 2);
  t.after(async () => {
    for (const { child } of servers) child.kill('SIGKILL');
    await Promise.all(servers.map(({ ended }) => ended));
    await upstream.close();
    await database.close();
    for (const { drop } of homes) await drop();
    for (const installation of installations) installation.remove();
  });
  const operator = operatorOn(database);
  const tree = {
    listen: { port: 0 },
    edge: { rate_limit: 'external', trusted_proxies: ['192.0.2.1'] },
    limits: { debt_floor_krw: 0 },
    log: { level: 'info' },
    ...echoConfig(upstream.url),
  };
  return {
    database,
    upstream,
    operator,
    /** A directory with its own configuration; `url`: on another database. */
    installation(url = urlOf(home.address)): Installation {
      const installation = createInstallation();
      installations.push(installation);
      installation.configure({ ...tree, database: { url } });
      return installation;
    },
    /** One more database, empty, without even the schema. */
    async anotherDatabase(): Promise<TestDatabase> {
      const another = await createTestDatabase(null);
      homes.push(another);
      return another;
    },
    /** Keeps the database from settling until it is released. */
    async holdSettlements(): Promise<() => Promise<void>> {
      const client = await database.connect(60_000);
      await client.query('BEGIN');
      await client.query('LOCK TABLE account_balance IN EXCLUSIVE MODE');
      return () => client.end();
    },
    async up(installation: Installation, ...args: readonly string[]): Promise<Serving> {
      const serving = await installation.up(
        '--json',
        '--config',
        join(installation.folder, 'naru.yaml'),
        ...args,
      );
      servers.push(serving);
      return serving;
    },
    /** How a server ended that is not to start. */
    refused: (installation: Installation, ...args: readonly string[]) =>
      installation.run('up', '--port', '0', '--config', join(installation.folder, 'naru.yaml'), ...args),
    account: (won: string) => createOnePayer(operator, won),
    nodes: () =>
      database.query<{ id: bigint; home: string; address: string }>(
        'SELECT id, home, address FROM gateway_node ORDER BY id',
      ),
    async usedWon(accountId: number): Promise<number> {
      return Number((await operator.readAccount(accountId))?.usage ?? 0n) / 1e6;
    },
  };
}
