/** Identity while the database is not there. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createIdentity } from '../../src/identity/identity.ts';
import { isConnectionLoss } from '../../src/store/connection.ts';
import { Database } from '../../src/store/database.ts';
import { openMovableAddress } from '../harness/movable-address.ts';
import { browser, cli, openWorld, password, tokenOf } from './world.ts';

test('without the database no one signs in or out by mistake, and afterwards everything is as before', async () => {
  const world = await openWorld();
  const { token } = await world.owner(await world.account(), 'away@example.com');
  const { token: link } = await world.identity.links.openAccount(await world.account(), cli);
  const { host, port, user, database: name } = world.database.address;
  const address = await openMovableAddress(world.database.address);
  const url = address.url.replace('naru@', `${user}@`).replace('/postgres?', `/${name}?`);
  assert.ok(host !== undefined && port !== undefined);
  const database = new Database({ connectionString: url });
  after(async () => {
    await database.close();
    await address.close();
  });
  const node = createIdentity({
    database,
    clock: world.clock,
    oidc: null,
    createAccount: () => assert.fail(),
  });
  assert.notEqual(await node.findSession(token), null);
  address.moveTo(null);
  const email = 'away@example.com';
  await Promise.all(
    [
      node.findSession(token),
      node.signIn.withPassword({ email, password }, browser()),
      node.signIn.withLink('account', link, browser()),
      node.prune(),
    ].map((attempt) => assert.rejects(attempt, isConnectionLoss)),
  );
  address.moveTo(world.database.address);
  assert.notEqual(await node.findSession(token), null);
  tokenOf(await node.signIn.withPassword({ email, password }, browser()));
  tokenOf(await node.signIn.withLink('account', link, browser()));
});
