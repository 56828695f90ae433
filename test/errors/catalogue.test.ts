import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  catalogue,
  errorTypeOf,
  type Failure,
  Refusal,
  refuse,
  renderRefusal,
  statusOf,
} from '../../src/errors/catalogue.ts';
import { messages } from '../../src/errors/messages.ts';
import { errorPairs } from '../harness/response-rules.ts';

const failures = Object.keys(catalogue) as Failure[];
/** Extras of every kind, as a thrower would give them. */
const extras = {
  model: 'm',
  balance_krw: '0.000000',
  limit_krw: '1.000000',
  usage_krw: '1.000000',
  models: ['m'],
  path: '/x',
  method: 'PUT',
  allow: ['GET', 'HEAD'],
  timeout_sec: 600,
  retry_after_sec: 7,
  provider_code: 500,
};
const rendered = (failure: Failure) => renderRefusal(new Refusal(failure, 'words', extras as never));

// spec:conformance/10
test('the catalogue has exactly the pairs of the specification', () => {
  const pairs = failures.map((failure) => `${statusOf(failure)} ${errorTypeOf(failure)}`);
  assert.deepEqual(new Set(pairs), errorPairs);
});

// spec:conformance/7,8,9
test('every error has the one shape, and its code is its status', () => {
  for (const failure of failures) {
    const { status, body } = rendered(failure);
    assert.deepEqual(Object.keys(body), ['error']);
    assert.deepEqual(Object.keys(body.error), ['code', 'message', 'metadata']);
    assert.equal(body.error.code, status);
    assert.equal(body.error.metadata.error_type, errorTypeOf(failure));
  }
});

// spec:conformance/13,14
test('Retry-After is set by the errors that have a wait, and by no other', () => {
  for (const failure of failures) {
    const says = ['rate_limit_exceeded', 'model_loading', 'overloaded', 'database_away'].includes(failure);
    assert.equal(rendered(failure).headers['Retry-After'], says ? '7' : undefined, failure);
  }
  assert.equal(rendered('method_not_allowed').headers['Allow'], 'GET, HEAD');
});

// spec:errors/1.6,4.6
test('errors that are not retryable are marked so', () => {
  const retryable = new Set<Failure>([
    'model_loading',
    'rate_limit_exceeded',
    'overloaded',
    'timeout',
    'provider_error',
    'server',
    'database_away',
  ]);
  for (const failure of failures)
    assert.equal(
      rendered(failure).headers['x-should-retry'],
      retryable.has(failure) ? undefined : 'false',
      failure,
    );
});

test('a rejection has the extras of its row and the message', () => {
  const message = messages.modelNotFound('a/b');
  const refusal = refuse('model_not_found', message, { model: 'a/b' });
  assert.deepEqual(renderRefusal(refusal).body, {
    error: { code: 400, message, metadata: { error_type: 'model_not_found', model: 'a/b' } },
  });
  assert.deepEqual(renderRefusal(refuse('not_found', messages.noSuchModel())).body.error.metadata, {
    error_type: 'not_supported',
  });
});
