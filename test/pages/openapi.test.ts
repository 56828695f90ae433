import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { pageOpenapiFile, pageOpenapiText } from '../../scripts/page-openapi.ts';

test('the OpenAPI document of the page API is that of the rows', () => {
  assert.equal(
    readFileSync(pageOpenapiFile, 'utf8'),
    pageOpenapiText(),
    'run `node scripts/with-node.mjs scripts/page-openapi.ts`, then generate the types of the web again',
  );
});

test('every operation has an id of its own, a summary and a schema of its response', () => {
  const { paths } = JSON.parse(pageOpenapiText());
  const operations = Object.values(paths).flatMap((path) => Object.values(path as object));
  assert.equal(new Set(operations.map((each) => each.operationId)).size, operations.length);
  for (const operation of operations) {
    assert.ok(operation.summary.length > 3, operation.operationId);
    const [content] = Object.values(operation.responses[200].content) as { schema: object }[];
    assert.ok(Object.keys(content?.schema ?? {}).length > 0, operation.operationId);
  }
});
