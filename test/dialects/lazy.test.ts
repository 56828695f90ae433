import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';
import { anthropicWire } from '../harness/wire-anthropic.ts';

/** Provider packages that were resolved so far, once each. */
const loaded = new Set<string>();
registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const name = /node_modules\/(@ai-sdk\/(?:anthropic|google|amazon-bedrock))\//.exec(resolved.url)?.[1];
    if (name !== undefined) loaded.add(name);
    return resolved;
  },
});

test('a package is loaded when a provider needs it, before the first request, and not otherwise', async () => {
  const { startTestGateway } = await import('../harness/gateway.ts');
  const { startUpstream } = await import('../harness/upstream.ts');
  const upstream = await startUpstream();
  const plain = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
  const { key } = await plain.account();
  const body = { model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] };
  assert.equal((await plain.send('POST', '/chat/completions', { key, body })).status, 200);
  await plain.close();
  await upstream.close();
  assert.deepEqual([...loaded], []);

  const { openWireWorld } = await import('../harness/wire-world.ts');
  const world = await openWireWorld(anthropicWire);
  await world.naru.account();
  assert.deepEqual([...loaded], ['@ai-sdk/anthropic']);
  assert.equal(world.upstream.requests.length, 0);
  await world.close();
});
