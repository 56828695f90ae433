import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  pageOpenapiFile,
  pageOpenapiText,
  pageTypesFile,
  pageTypesText,
} from '../../scripts/page-openapi.ts';
import { pageTypes, typeOf } from '../../scripts/page-types.ts';

test('the OpenAPI document of the page API is that of the rows', () => {
  assert.equal(
    readFileSync(pageOpenapiFile, 'utf8'),
    pageOpenapiText(),
    'run `node scripts/with-node.mjs scripts/page-openapi.ts`',
  );
});

test('the types of the web are those of the OpenAPI document', () => {
  assert.equal(
    readFileSync(pageTypesFile, 'utf8'),
    pageTypesText(),
    'run `node scripts/with-node.mjs scripts/page-openapi.ts`',
  );
});

test('a schema becomes its TypeScript type, and an unknown one fails', () => {
  assert.equal(typeOf({ type: ['string', 'null'] }), 'string | null');
  assert.equal(typeOf({ anyOf: [{ type: 'integer' }, { type: 'null' }] }), 'number | null');
  assert.equal(typeOf({ enum: ['a', "it's"] }), "'a' | 'it\\'s'");
  assert.equal(typeOf({ type: 'array', items: { enum: ['a', 'b'] } }), "readonly ('a' | 'b')[]");
  assert.equal(
    typeOf({ type: 'array', items: { type: 'array', items: { type: 'number' } } }),
    'readonly (readonly number[])[]',
  );
  assert.equal(
    typeOf({ type: 'object', additionalProperties: { type: 'boolean' } }),
    'Readonly<Record<string, boolean>>',
  );
  assert.equal(
    typeOf({ type: 'object', properties: { a: { const: 1 }, 'b-c': {} }, required: ['a'] }),
    '{\nreadonly a: 1;\nreadonly "b-c"?: unknown;\n}',
  );
  assert.throws(() => typeOf({ $ref: '#/components/schemas/X' }), /reference/);
  assert.throws(() => typeOf({ type: 'date' }), /unknown type/);
  assert.equal(pageTypes({ paths: {} }).split('\n').at(-3), 'export interface Routes {');
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
