/** Words that every object of the language knows are words like any other, wherever a client says them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serveEcho } from '../harness/echo.ts';
import type { TestAccount, TestGateway } from '../harness/gateway.ts';

let naru: TestGateway;
let account: TestAccount;
serveEcho('1000000', (echo) => {
  ({ naru, account } = echo);
});

const words = ['constructor', '__proto__', 'toString', 'hasOwnProperty'];
const tool = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object' } } });
const bodies = (word: string): readonly object[] => [
  { model: word },
  { models: [word] },
  { provider: { quantizations: [word] } },
  { provider: { only: [word] } },
  { provider: { order: [word], sort: word, ignore: [word] } },
  { provider: JSON.parse(`{"${word}": 1, "max_price": {"${word}": 1}}`) },
  { reasoning_effort: word },
  { reasoning: { effort: word } },
  { thinking: { type: word } },
  { response_format: { type: word } },
  { tools: [tool(word)], tool_choice: word },
  { tools: [tool(word)], tool_choice: { type: 'function', function: { name: word } } },
  { messages: [{ role: word, content: 'x' }] },
  { messages: [{ role: 'user', content: [{ type: word }] }] },
  {
    messages: [
      { role: 'user', content: [{ type: 'image_url', image_url: { url: `https://a.test/x.${word}` } }] },
    ],
  },
  { stop: [word], user: word, session_id: word, service_tier: word, verbosity: word, route: word },
  JSON.parse(`{"${word}": {"a": 1}}`),
];

test('a word of the language in any member of a body is answered or refused, never a failure', async () => {
  for (const word of words)
    for (const member of bodies(word)) {
      const body = { model: 'test/echo', messages: [{ role: 'user', content: 'x' }], ...member };
      const { status, text } = await naru.send('POST', '/chat/completions', { key: account.key, body });
      assert.ok([200, 400, 404].includes(status), `${status} ${JSON.stringify(member)} ${text}`);
    }
});

test('a word of the language in a query or a header is answered or refused, never a failure', async () => {
  const reads = [
    '/models',
    '/models/count',
    '/datasets/app-rankings',
    '/datasets/rankings-daily',
    '/benchmarks',
  ];
  const names = [
    'sort',
    'providers',
    'q',
    'category',
    'source',
    'modality',
    'period',
    'search_engine',
    'arch',
  ];
  for (const word of words) {
    for (const path of reads)
      for (const query of [...names.map((name) => `${name}=${word}`), `${word}=x`]) {
        const { status } = await naru.send('GET', `${path}?${query}`, { key: account.key });
        assert.ok([200, 400].includes(status), `${status} ${path}?${query}`);
      }
    const headers = {
      'user-agent': `${word}/1`,
      'x-title': word,
      'http-referer': word,
      'accept-language': word,
    };
    assert.equal((await naru.send('GET', '/key', { key: account.key, headers })).status, 200);
    for (const path of [`/models/${word}/${word}/endpoints`, `/keys/${word}`, `/${word}`])
      assert.ok([401, 404].includes((await naru.send('GET', path, { key: account.key })).status), path);
  }
});
