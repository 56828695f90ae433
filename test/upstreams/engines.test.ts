import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Engines } from '../../src/upstreams/providers.ts';

test('stopped engines leave no connections behind: each start has its own port, for months', async () => {
  const engines = new Engines(() => 1_000);
  const first = engines.at('http://127.0.0.1:10000/v1');
  assert.equal(engines.at('http://127.0.0.1:10000/v1'), first);
  for (let port = 10_001; port <= 11_000; port += 1) engines.at(`http://127.0.0.1:${port}/v1`);
  assert.ok(engines.size <= 64, `${engines.size} are kept`);
  assert.notEqual(engines.at('http://127.0.0.1:10000/v1'), first, 'it is connected to again');
  await engines.close();
});
