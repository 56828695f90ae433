/**
 * The judge of fuzzed responses can fail: a right response passes, and each way to spoil it is
 * detected.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { newRequestId } from '../../src/wire/ids/request-id.ts';
import { type RawResponse, rawly } from '../harness/raw-client.ts';
import { runCampaign } from './campaign.ts';
import { bytesOf } from './connection.ts';
import { type Operation, readDocument } from './document.ts';
import type { Drawn } from './draw.ts';
import { judge } from './judge.ts';
import { startWorld, type World } from './world.ts';

let world: World;
let operations: readonly Operation[];

before(async () => {
  world = await startWorld();
  operations = readDocument((await world.naru.send('GET', '/openapi.json')).text);
});
after(() => world?.close());

function sent(name: string, more: Partial<Drawn> = {}): Drawn {
  const operation = operations.find((each) => each.name === name);
  assert.ok(operation !== undefined, name);
  const { method, path } = operation;
  const plain = {
    n: 1,
    query: [],
    credential: 'inference',
    headers: [],
    body: null,
    framing: 'length',
  } as const;
  return { ...plain, operation, method, path, unreadable: false, spoilt: false, ...more };
}

async function responseTo(drawn: Drawn): Promise<RawResponse> {
  const [response] = await rawly(world.naru.gateway.server.port, bytesOf(drawn, world));
  assert.ok(response !== undefined);
  return response;
}

type Spoil = readonly [what: string, spoil: (response: RawResponse) => RawResponse | null];

function assertEachNoticed(drawn: Drawn, right: RawResponse, spoils: readonly Spoil[]): void {
  judge(drawn, right, operations);
  for (const [what, spoil] of spoils)
    assert.throws(() => judge(drawn, spoil(right), operations), Error, `not noticed: ${what}`);
}

function without(response: RawResponse, name: string): RawResponse {
  const headers = response.headers.filter(([key]) => key !== name);
  return {
    ...response,
    headers,
    all: (key) => headers.filter(([each]) => each === key).map(([, value]) => value),
  };
}

test('a success that differs from the document is detected', async () => {
  const drawn = sent('GET /credits');
  assertEachNoticed(drawn, await responseTo(drawn), [
    ['no response', () => null],
    [
      'a member too many',
      (right) => ({ ...right, body: right.body.replace('{"data":{', '{"data":{"more":1,') }),
    ],
    ['a number as text', (right) => ({ ...right, body: right.body.replace(/:(\d+)/, ':"$1"') })],
    ['half of it', (right) => ({ ...right, body: right.body.slice(0, -1) })],
    ['no currency', (right) => without(right, 'x-service-currency')],
    ['no request id', (right) => without(right, 'x-service-request-id')],
    ['another status', (right) => ({ ...right, status: 201 })],
    ['a failure inside', (right) => ({ ...right, status: 500 })],
  ]);
});

test('an error that is not in the catalogue or not documented is detected', async () => {
  const drawn = sent('GET /credits', { credential: 'malformed' });
  assertEachNoticed(drawn, await responseTo(drawn), [
    ['a code that is not the status', (right) => ({ ...right, status: 403 })],
    [
      'a type of another status',
      (right) => ({ ...right, body: right.body.replace('invalid_api_key', 'timeout') }),
    ],
    ['no advice on trying again', (right) => without(right, 'x-should-retry')],
    [
      'a status that the document does not know there',
      (right) => ({
        ...right,
        status: 400,
        body: right.body.replace('401', '400').replace('invalid_api_key', 'model_not_found'),
      }),
    ],
    [
      'an internal error in the right shape',
      (right) => ({
        ...without(right, 'x-should-retry'),
        status: 500,
        body: right.body.replace('401', '500').replace('invalid_api_key', 'server'),
      }),
    ],
  ]);
});

test('a stream without an end or a price, or with a chunk of another shape, is detected', async () => {
  const body = { model: 'test/echo', stream: true, messages: [{ role: 'user', content: 'hi' }] };
  const drawn = sent('POST /chat/completions', { body });
  assertEachNoticed(drawn, await responseTo(drawn), [
    ['no [DONE]', (right) => ({ ...right, body: right.body.replace('data: [DONE]\n\n', '') })],
    ['no price', (right) => ({ ...right, body: right.body.replace(/data: \{[^\n]*"usage"[^\n]*\n\n/, '') })],
    ['a broken chunk', (right) => ({ ...right, body: right.body.replace('"choices"', '"choixes"') })],
    ['half an event', (right) => ({ ...right, body: right.body.slice(0, -3) })],
  ]);
});

test('502 of a healthy upstream is detected, 502 of an unhealthy one is accepted', async () => {
  const messages = [{ role: 'user', content: 'hi' }];
  const dead = sent('POST /chat/completions', { body: { model: 'test/dead', messages } });
  const response = await responseTo(dead);
  assert.equal(judge(dead, response, operations).status, 502);
  const steady = sent('POST /chat/completions', { body: { model: 'test/echo', messages } });
  assert.throws(() => judge(steady, response, operations), /although the upstream works/);
});

test('a route that fails on one kind of request is found, and the request is minimised', async (t) => {
  // Like the gateway, it reads a long head.
  const server = createServer({ maxHeaderSize: 1 << 20 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const breaks = Buffer.concat(chunks).includes('__proto__');
      const [code, error_type] = breaks ? [500, 'server'] : [404, 'not_supported'];
      const id = newRequestId();
      response.writeHead(code, {
        'x-service-currency': 'KRW',
        'x-service-request-id': id,
        'x-request-id': id,
        'x-content-type-options': 'nosniff',
        'access-control-allow-origin': '*',
        'content-type': 'application/json',
        ...(breaks ? {} : { 'x-should-retry': 'false' }),
      });
      const body = JSON.stringify({ error: { code, message: 'x', metadata: { error_type } } });
      response.end(request.method === 'HEAD' ? undefined : body);
    });
  });
  // What is no HTTP gets no response, which is allowed.
  server.on('clientError', (_error, socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const found = await runCampaign(world, { seed: 11, requests: 5_000, port });
  assert.match(found.finding?.why ?? '', /500/);
  assert.match(found.finding?.request ?? '', /__proto__/);
  const [, body = ''] = (found.finding?.request ?? '').split('\r\n\r\n');
  assert.ok(body.length < 200, `not small: ${body}`);
});

test('a missing response is a finding, not a hang', async (t) => {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const found = await runCampaign(world, { seed: 1, requests: 3, lines: 1, port, limitMs: 30 });
  assert.match(found.finding?.why ?? '', /no response within 30 ms/);
});
