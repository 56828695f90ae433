/**
 * One schema documents and validates a request: what the API document states about parameters and
 * bodies is what the endpoints accept, and a rejected value is named in Korean and English.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import { consoleRows } from '../../src/pages/console/rows.ts';
import type { ConsoleContext, DashboardContext } from '../../src/pages/context.ts';
import { dashboardRows } from '../../src/pages/dashboard/rows.ts';
import type { AnyPageRoute } from '../../src/pages/page-route.ts';
import { queryParameters, schemaOf } from '../../src/wire/openapi-parts.ts';
import { type Operation, readDocument } from '../fuzz/document.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { assertError } from '../harness/response-rules.ts';
import { sample } from '../harness/tier.ts';
import { unboundedIn } from '../harness/unbounded.ts';

let naru: TestGateway;
let account: TestAccount;
let management: string;
let operations: readonly Operation[];

before(async () => {
  naru = await startTestGateway({});
  account = await naru.account({ credit: '1000000' });
  management = (await account.another({ kind: 'management' })).key;
  operations = readDocument((await naru.send('GET', '/openapi.json')).text);
});
after(async () => naru?.close());

const keyFor = (path: string): string => (path.startsWith('/keys') ? management : account.key);

/** The messages of requests whose first fault is known, by method and path and query or body. */
const faults: readonly (readonly [string, object | null, string])[] = [
  [
    'GET /keys?offset=-1',
    null,
    '`offset` 값은 0 이상의 정수여야 합니다. `offset` must be an integer of at least 0.',
  ],
  [
    'GET /keys?include_disabled=maybe',
    null,
    '`include_disabled` 값은 다음 중 하나여야 합니다: true, false. `include_disabled` must be one of true, false.',
  ],
  ['POST /keys', {}, '`name` 값이 없습니다. `name` is missing.'],
  ['POST /keys', [], '본문은 JSON 객체여야 합니다. The body must be a JSON object.'],
  ['POST /keys', { name: null }, '`name` 값은 문자열이어야 합니다. `name` must be a string.'],
  ['POST /keys', { name: 7 }, '`name` 값은 문자열이어야 합니다. `name` must be a string.'],
  ['POST /keys', { name: '' }, '`name` 값은 비어 있을 수 없습니다. `name` must not be empty.'],
  ['POST /keys', { name: ' \u200b' }, '`name` 값은 비어 있을 수 없습니다. `name` must not be empty.'],
  ...['x'.repeat(501), 'a\0b'].map(
    (name) =>
      [
        'POST /keys',
        { name },
        '`name` 값은 올바른 유니코드 문자로 된 500자 이하의 문자열이어야 합니다. `name` must be well-formed text of at most 500 characters.',
      ] as const,
  ),
  ...['5', -1, -0.0000001, 1e15 + 1, true, {}].map(
    (limit) =>
      [
        'POST /keys',
        { name: 'x', limit },
        '`limit` 값은 null이거나 0 이상 10^15 이하의 수여야 합니다. `limit` must be null or a number from 0 to 10^15.',
      ] as const,
  ),
  ...['yearly', 1, ''].map(
    (limit_reset) =>
      [
        'POST /keys',
        { name: 'x', limit_reset },
        '`limit_reset` 값은 null이거나 다음 중 하나여야 합니다: never, daily, weekly, monthly. `limit_reset` must be null or one of never, daily, weekly, monthly.',
      ] as const,
  ),
  ...['tomorrow', 1, '2026-02-30T00:00:00Z'].map(
    (expires_at) =>
      [
        'POST /keys',
        { name: 'x', expires_at },
        '`expires_at` 값은 null이거나 2026-12-31T23:59:59Z 형식의 시각이어야 합니다. `expires_at` must be null or a timestamp such as 2026-12-31T23:59:59Z.',
      ] as const,
  ),
  [
    'PATCH /keys/{hash}',
    { name: 'x', disabled: 'no' },
    '`disabled` 값은 true 또는 false여야 합니다. `disabled` must be a boolean.',
  ],
  ['GET /generation', null, '`id` 값이 없습니다. `id` is missing.'],
  ['GET /generation?id=', null, '`id` 값이 없습니다. `id` is missing.'],
  [
    'GET /models?limit=1001',
    null,
    '`limit` 값은 1 이상 1000 이하의 정수여야 합니다. `limit` must be an integer from 1 to 1000.',
  ],
  [
    'GET /models?max_price=x',
    null,
    '`max_price` 값은 0 이상의 수여야 합니다. `max_price` must be a number of at least 0.',
  ],
  [
    'GET /models?input_modalities=text,smell',
    null,
    '`input_modalities` 값은 다음 중 하나여야 합니다: text, image, file, audio, video. `input_modalities` must be one of text, image, file, audio, video.',
  ],
  ...['providers', 'input_modalities', 'output_modalities', 'supported_parameters', 'model_authors'].map(
    (name) =>
      [
        `GET /models/count?${name}=${'text,'.repeat(100)}text`,
        null,
        `\`${name}\` 값은 쉼표로 구분된 항목이 100개 이하여야 합니다. \`${name}\` must have at most 100 entries, separated by commas.`,
      ] as const,
  ),
  [
    `GET /models?q=${'x'.repeat(501)}`,
    null,
    '`q` 값은 500자 이하의 문자열이어야 합니다. `q` must be a string of at most 500 characters.',
  ],
  [
    `GET /models?${'a&'.repeat(4_100)}`,
    null,
    '쿼리가 8192바이트를 넘습니다. 더 짧은 쿼리를 보내 주세요. The query is longer than 8192 bytes; send a shorter one.',
  ],
  [
    'GET /datasets/app-rankings?end_date=2026-02-30',
    null,
    '`end_date` 값은 YYYY-MM-DD 형식의 날짜여야 합니다. `end_date` must be a date as YYYY-MM-DD.',
  ],
  [
    'GET /datasets/rankings-daily?category=marketing&modality=text',
    null,
    '`category`와 `language_type`은 다른 필터와 함께 사용할 수 없습니다. `category` and `language_type` cannot be combined with another filter.',
  ],
  [
    'GET /datasets/rankings-daily?category=marketing&period=day',
    null,
    '`period` 값은 `category` 또는 `language_type`과 함께 사용할 때는 week 또는 month여야 합니다. `period` must be week or month when it is used with `category` or `language_type`.',
  ],
  [
    'GET /benchmarks?include_run_config=True',
    null,
    '`include_run_config` 값은 다음 중 하나여야 합니다: true, false. `include_run_config` must be one of true, false.',
  ],
];

test('a rejected value is named with what it must be, in Korean and English', async () => {
  const { hash } = await account.another();
  for (const [line, body, message] of faults) {
    const [method = '', target = ''] = line.split(' ');
    const path = target.replace('{hash}', hash);
    const response = await naru.send(method, path, { key: keyFor(path), ...(body === null ? {} : { body }) });
    assertError(response, 400, 'invalid_request');
    assert.equal(response.json.error.message, message, line);
  }
});

test('of several faults the first documented member is named, and of a repeated parameter the first value counts', async () => {
  const both = await naru.send('POST', '/keys', { key: management, body: { limit: -1, name: 7 } });
  assert.match(both.json.error.message, /`name` must be a string/);
  assert.match((await naru.send('GET', '/models?sort=x&limit=0')).json.error.message, /`limit`/);
  assert.equal((await naru.send('GET', '/models?limit=1&limit=0')).status, 200);
  assertError(await naru.send('GET', '/models?limit=0&limit=1'), 400, 'invalid_request');
  assert.equal((await naru.send('GET', '/models?__proto__=x&constructor=y&limit=1')).status, 200);
});

test('an offset of any length is beyond the end, and the page is empty', async () => {
  const offset = '9'.repeat(400);
  for (const path of ['/models', '/keys', '/datasets/app-rankings']) {
    const { status, json } = await naru.send('GET', `${path}?offset=${offset}`, { key: keyFor(path) });
    assert.deepEqual([status, json.data], [200, []], path);
  }
  const dates = ['end_date=0000-01-01', 'end_date=9999-12-31', 'start_date=0000-01-01'];
  for (const date of dates)
    for (const path of ['/datasets/app-rankings', '/datasets/rankings-daily'])
      assert.ok((await naru.send('GET', `${path}?${date}`, { key: account.key })).status <= 400, path + date);
});

/** Korean, then English. */
const bilingual = /[가-힣].*\. `?[A-Za-z].*\.$/;

/** Texts that are values of some parameters and not of others. */
const texts: readonly string[] = [
  ...['', '0', '1', '5', '100', '101', '1000', '1001', '-1', '1.5', '0x10', 'NaN', 'Infinity', 'abc', 'x'],
  ...['true', 'false', 'yes', 'eu', 'text', 'smell', '2026-01-31', '2026-02-30', '2026-1-1', 'week', 'day'],
  ...['newest', 'top-weekly', 'coding', 'models', 'plugin', 'openrouter', 'constructor', '__proto__', '1K'],
  ...[' text , image,', ',', 'text image', 'text,,smell', ' '],
];

/** The value that a text stands for, as a reader of the document understands it. */
function readAs(type: unknown, text: string): unknown {
  const isNumber = (type === 'integer' || type === 'number') && text.trim() !== '' && !text.startsWith('0x');
  return isNumber && !Number.isNaN(Number(text)) ? Number(text) : text;
}

test('a parameter accepts exactly the values that its documented schema accepts', async () => {
  const tried = sample(texts, 5);
  let compared = 0;
  for (const { method, path, parameters } of operations) {
    const required = parameters.filter((each) => each.in === 'query' && each.required).length;
    for (const { name, schema, ...parameter } of parameters) {
      if (parameter.in !== 'query' || required > 0) continue;
      const documented = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
      for (const text of tried) {
        const target = `${path.replace('/api/v1', '')}?${name}=${encodeURIComponent(text)}`;
        const { status, json } = await naru.send(method, target, { key: keyFor(target.slice(0, 5)) });
        const isAccepted = documented.safeParse(readAs(schema.type, text)).success;
        assert.equal(status, isAccepted ? 200 : 400, target);
        if (!isAccepted) assert.match(json.error.message, bilingual, target);
        compared += 1;
      }
    }
  }
  assert.ok(compared > 25 * tried.length, `${compared} values`);
});

test('every parameter of the listing that is read is documented', () => {
  const at = (path: string): readonly string[] =>
    operations.find((each) => each.name === `GET ${path}`)?.parameters.map(({ name }) => name) ?? [];
  for (const name of ['min_age_days', 'max_age_days', 'arch', 'zdr', 'distillable', 'region', 'sort'])
    assert.ok(at('/models').includes(name), name);
  for (const name of ['include_run_config', 'search_engine', 'search_surface'])
    assert.ok(at('/benchmarks').includes(name), name);
});

/** The requests of the pages in the form of the API document. */
function pageRequests() {
  const rows: readonly AnyPageRoute[] = [
    ...dashboardRows({} as DashboardContext),
    ...consoleRows({} as ConsoleContext),
  ];
  const requests = rows.map(({ method, path, query, body }) => {
    const content = body === undefined ? null : { 'application/json': { schema: schemaOf(body, 'input') } };
    const request = {
      parameters: queryParameters(query),
      ...(content === null ? {} : { requestBody: { content } }),
    };
    return [`${method} ${path}`, { request }];
  });
  return { paths: Object.fromEntries(requests) };
}

// security:16
test('every text and every list that a request may have states its maximum, in the API and the pages', async () => {
  const api = (await naru.send('GET', '/openapi.json')).json;
  assert.deepEqual(unboundedIn(api), []);
  assert.deepEqual(unboundedIn(pageRequests()), []);
  const grown = {
    paths: {
      '/x': {
        post: {
          requestBody: {
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  properties: {
                    a: { type: 'string' },
                    b: { type: 'array', maxItems: 1, items: { type: 'string' } },
                  },
                },
              },
            },
          },
        },
      },
    },
  };
  assert.deepEqual(unboundedIn(grown), ['post /x body.a', 'post /x body.b[]']);
});
