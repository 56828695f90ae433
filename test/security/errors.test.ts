import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generationIdOf, newGenerationUuid } from '../../src/wire/ids/generation-id.ts';
import { startTestGateway } from '../harness/gateway.ts';
import { assertError } from '../harness/response-rules.ts';

// spec:conformance/20
// security:25
test('an unforeseen error returns only the request id to the client, and the log has its details', async (t) => {
  const naru = await startTestGateway({ expectsInternalErrors: true });
  t.after(() => naru.close());
  const { key } = await naru.account();
  const id = generationIdOf(newGenerationUuid(naru.clock.now()));
  await naru.database.query('ALTER TABLE generation RENAME TO hidden_table');
  const response = await naru.send('GET', `/generation?id=${id}`, { key });
  assertError(response, 500, 'server');
  assert.doesNotMatch(response.text, /generation|hidden|SELECT|relation|\.ts|node_modules|\bat |42P01|pg/i);
  const requestId = response.headers.get('x-request-id');
  const line = naru.logged.find(
    (each) => each['event'] === 'internal_error' && each['request_id'] === requestId,
  );
  assert.match(String(line?.['detail']), /relation "generation" does not exist/);
});
