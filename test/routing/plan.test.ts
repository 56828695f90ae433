import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Candidate, Model } from '../../src/catalogue/model.ts';
import { Refusal } from '../../src/errors/catalogue.ts';
import { parseCompletionRequest } from '../../src/inference/parse-request.ts';
import { rateOfPico } from '../../src/money/price.ts';
import { chainOf, countingLimit, noCircumstances, plan } from '../../src/routing/plan.ts';
import type { CompletionRequest } from '../../src/wire/chat.ts';

const zero = rateOfPico(0n);

function candidate(label: string, more: Partial<Candidate> = {}): Candidate {
  return {
    label,
    via: { kind: 'provider', provider: label },
    modelId: 'a/b',
    upstreamModel: 'b',
    providerTag: label,
    providerName: label,
    contextLength: 1000,
    maxCompletionTokens: 1000,
    inputs: new Set(['text']),
    supportedParameters: null,
    acceptedParameters: ['seed', 'tools', 'temperature'],
    weight: null,
    price: { prompt: zero, completion: zero, request: zero, cacheRead: zero, cacheWrite: zero },
    priceVersion: 1,
    ...more,
  } as Candidate;
}

function models(...candidates: readonly Candidate[]): readonly Model[] {
  return [{ id: 'a/b', candidates } as unknown as Model];
}

function requestOf(body: object = {}): CompletionRequest {
  const whole = { model: 'a/b', messages: [{ role: 'user', content: 'hi' }], ...body };
  return parseCompletionRequest('chat', Buffer.from(JSON.stringify(whole)), null);
}

const prompt = (promptTokens: number) => ({ ...noCircumstances, promptTokens });
const labels = (request: CompletionRequest, from: readonly Model[], tokens = 1): readonly string[] =>
  plan(request, from, prompt(tokens)).chain.map(({ label }) => label);

test('candidates are tried in the order of the models, then of the catalogue', () => {
  const two = [...models(candidate('1'), candidate('2')), ...models(candidate('3'))];
  assert.deepEqual(labels(requestOf(), two), ['1', '2', '3']);
});

// spec:conformance/229
test('a candidate is dropped when the prompt is a tenth above its context, and not before', () => {
  const some = models(candidate('small', { contextLength: 100 }), candidate('large'));
  assert.deepEqual(labels(requestOf(), some, 110), ['small', 'large']);
  assert.deepEqual(labels(requestOf(), some, 111), ['large']);
  assert.deepEqual(
    plan(requestOf(), some, prompt(111)).rejected.map(({ why }) => why),
    ['context_too_small'],
  );
});

test('a drain excludes one candidate of one model; without another candidate the reason is the drain', () => {
  const other: Model = { id: 'c/d', candidates: [candidate('1', { modelId: 'c/d' })] } as unknown as Model;
  const drains = {
    isDrained: ({ modelId, label }: Pick<Candidate, 'modelId' | 'label'>) =>
      modelId === 'a/b' && label === '1',
  };
  const given = { ...noCircumstances, drains };
  const both = [...models(candidate('1'), candidate('2')), other];
  const planned = plan(requestOf(), both, given);
  assert.deepEqual(
    planned.chain.map(({ modelId, label }) => `${modelId} ${label}`),
    ['a/b 2', 'c/d 1'],
  );
  assert.deepEqual(
    planned.rejected.map(({ why }) => why),
    ['drained'],
  );
  const last = plan(requestOf(), models(candidate('1')), given);
  assert.throws(
    () => chainOf(requestOf(), last),
    (error) =>
      error instanceof Refusal &&
      error.failure === 'no_endpoints_found' &&
      /운영자가 새 요청을 중단했습니다\. .*an operator drained it/.test(error.message),
  );
});

// spec:api/13.1
test('a candidate without image input gets no image', () => {
  const image = requestOf({
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,' } }] }],
  });
  const some = models(candidate('blind'), candidate('seeing', { inputs: new Set(['text', 'image']) }));
  assert.deepEqual(labels(image, some), ['seeing']);
  assert.deepEqual(labels(requestOf(), some), ['blind', 'seeing']);
});

test('tools go to candidates that declare them, or declare nothing', () => {
  const some = models(
    candidate('none', { supportedParameters: new Set(['seed']) }),
    candidate('some', { supportedParameters: new Set(['tools']) }),
    candidate('silent'),
  );
  assert.deepEqual(labels(requestOf({ tools: [] }), some), ['some', 'silent']);
});

// spec:conformance/220,230
test('a plan without candidates is a 404 that names the requested models', () => {
  const sent = requestOf({ models: ['a/b', 'c/d'] });
  const planned = plan(sent, models(candidate('small', { contextLength: 1 })), prompt(1000));
  assert.throws(
    () => chainOf(sent, planned),
    (error) => {
      assert.ok(error instanceof Refusal && error.failure === 'no_endpoints_found');
      assert.deepEqual(error.extras, { models: ['a/b', 'c/d'] });
      return true;
    },
  );
});

test('a prompt is counted only if its bytes do not prove that it fits', () => {
  const some = models(candidate('1', { contextLength: 500 }), candidate('2', { contextLength: 2000 }));
  assert.equal(countingLimit(requestOf(), some), null);
  assert.equal(
    countingLimit(requestOf({ messages: [{ role: 'user', content: 'x'.repeat(600) }] }), some),
    2200,
  );
});
