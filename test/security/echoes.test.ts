/** What an error repeats of a request is short, however long the request was. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway, type TestResponse } from '../harness/gateway.ts';

/** What surrounds a value in an error: names, explanations in two languages. */
const maxAroundBytes = 3_000;
const maxEchoLength = 500;
let naru: TestGateway;
let key: string;
let management: string;

before(async () => {
  naru = await startTestGateway({
    models: [{ id: 'test/echo', upstreams: ['http://127.0.0.1:9'] }],
    config: { edge: { rate_limit: 'external', trusted_proxies: ['192.0.2.1'] } },
  });
  const account = await naru.account({ credit: '1000000' });
  key = account.key;
  management = (await account.another({ kind: 'management' })).key;
});
after(() => naru?.close());

/** The longest run of one letter in a text: the sent values consist of it. */
function longestRun(text: string): number {
  return Math.max(0, ...[...text.matchAll(/Z+|(?:\u{1f600})+/gu)].map(([run]) => run.length));
}

function assertShort(response: TestResponse, what: string): void {
  assert.ok(
    longestRun(response.text) <= maxEchoLength,
    `${what}: ${longestRun(response.text)} of it repeated`,
  );
  assert.ok(
    Buffer.byteLength(response.text) <= maxAroundBytes + 4 * maxEchoLength,
    `${what}: ${response.text.length}`,
  );
  for (const [name, value] of response.headers) assert.ok(value.length <= 1_000, `${what}: header ${name}`);
  assert.ok(response.text.isWellFormed() && !response.text.includes('\\ud83d"'), what);
}

const messages = [{ role: 'user', content: 'hi' }];

/** Bodies of a completion that have one long value. */
function hostile(long: string): Readonly<Record<string, object>> {
  const chat = { model: 'test/echo', messages, max_tokens: 5 };
  return {
    model: { ...chat, model: long },
    models: { ...chat, model: undefined, models: [long, `${long}1`, `${long}2`] },
    'a model behind a known one': { ...chat, models: [long] },
    role: { ...chat, messages: [{ role: long, content: 'hi' }] },
    content: { ...chat, messages: [{ role: 'user', content: [{ type: long }] }] },
    'a parameter': { ...chat, temperature: long },
    'the name of a parameter': { ...chat, [long]: 1 },
    route: { ...chat, route: long },
    'provider.only': { ...chat, provider: { only: [long] } },
    'provider.order': { ...chat, provider: { order: [long], allow_fallbacks: false } },
    'provider.sort': { ...chat, provider: { sort: long } },
    'a name in provider': { ...chat, provider: { [long]: true } },
    response_format: { ...chat, response_format: { type: long } },
    tools: { ...chat, tools: [{ type: long }] },
    user: { ...chat, user: long },
  };
}

// security:9
test('an error repeats at most 500 characters of any value of a body', async () => {
  for (const letter of ['Z', '\u{1f600}']) {
    const long = letter.repeat(300_000);
    for (const [what, body] of Object.entries(hostile(long)))
      assertShort(await naru.send('POST', '/chat/completions', { key, body }), what);
    for (const body of [
      { name: 1, [long]: 1 },
      { name: 'x', limit: long },
      { name: 'x', limit_reset: long },
    ])
      assertShort(await naru.send('POST', '/keys', { key: management, body }), Object.keys(body).join());
  }
});

// security:9
test('a model name of 20 million characters returns a few hundred bytes', async () => {
  const send = (model: string) => naru.send('POST', '/chat/completions', { key, body: { model, messages } });
  const response = await send('Z'.repeat(20_000_000));
  assert.equal(response.status, 400);
  assert.equal(response.json.error.metadata.error_type, 'invalid_request');
  assert.ok(response.text.length < 2_000);
});

// spec:errors/1.7
// security:9
test('an error repeats at most 500 characters of a query, and a path whole in `metadata` alone', async () => {
  const long = 'Z'.repeat(40_000);
  for (const path of [
    `/keys/${long}`,
    `/models/${long}/${long}/endpoints`,
    `/generation?id=${long}`,
    `/models?supported_parameters=${long}&sort=${long}`,
    `/keys?offset=${long}&include_disabled=${long}`,
    `/datasets/app-rankings?end_date=${long}&limit=${long}`,
  ])
    for (const with_ of [key, management])
      assertShort(await naru.send('GET', path, { key: with_ }), path.slice(0, 30));
  for (const path of ['/no/such%2Fpath//', `/${long}`, `/docs/${long}`]) {
    const { error } = (await naru.send('GET', path, { key })).json;
    assert.ok(error.metadata.path.endsWith(path), path);
    assert.ok(longestRun(error.message) <= maxEchoLength);
  }
});
