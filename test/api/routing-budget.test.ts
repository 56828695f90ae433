import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestGateway } from '../harness/gateway.ts';
import { reply, startUpstream } from '../harness/upstream.ts';

test('a candidate that only had the remaining time is not marked as late', async (t) => {
  const [slow, innocent] = await Promise.all([startUpstream(), startUpstream()]);
  const naru = await startTestGateway({
    models: [{ id: 'test/pair', upstreams: [slow.url, innocent.url] }],
    config: { limits: { upstream_timeout_ms: 1_600, first_byte_timeout_ms: 1_200 } },
  });
  t.after(async () => {
    await naru.close();
    await Promise.all([slow.close(), innocent.close()]);
  });
  slow.always(reply.hang());
  innocent.always(reply.hang());
  const { key } = await naru.account();
  const body = { model: 'test/pair', messages: [{ role: 'user', content: 'x' }] };
  const response = await naru.send('POST', '/chat/completions', { key, body });
  assert.equal(response.status, 408);
  assert.equal(innocent.requests.length, 1);
  const attempts = (label: string): number => naru.gateway.health.of(label).attempts(60_000);
  assert.equal(attempts('up1/upstream-pair'), 1);
  assert.equal(attempts('up2/upstream-pair'), 0);
});
