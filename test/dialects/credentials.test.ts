import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { after, describe, test } from 'node:test';
import type { Received } from '../harness/upstream-connection.ts';
import type { Wire } from '../harness/wire.ts';
import { requestWire } from '../harness/wire-request.ts';
import { openWireWorld, wires } from '../harness/wire-world.ts';

const strange = {
  ANTHROPIC_API_KEY: 'env-credential-1',
  ANTHROPIC_AUTH_TOKEN: 'env-credential-2',
  ANTHROPIC_BASE_URL: 'http://127.0.0.1:9/env',
  GOOGLE_GENERATIVE_AI_API_KEY: 'env-credential-3',
  AWS_ACCESS_KEY_ID: 'env-credential-4',
  AWS_SECRET_ACCESS_KEY: 'env-credential-5',
  AWS_SESSION_TOKEN: 'env-credential-6',
  AWS_BEARER_TOKEN_BEDROCK: 'env-credential-7',
  AWS_REGION: 'env-region-1',
  AWS_ENDPOINT_URL: 'http://127.0.0.1:9/env',
  AWS_ENDPOINT_URL_BEDROCK_RUNTIME: 'http://127.0.0.1:9/env',
};
Object.assign(process.env, strange);
after(() => {
  for (const name of Object.keys(strange)) delete process.env[name];
});

const messages = [{ role: 'user', content: 'Say hello, please.' }];

for (const wire of wires) {
  describe(wire.dialect, () => {
    for (const stream of [false, true]) {
      test(`the configured credential is sent, and no other ${stream ? 'streamed' : 'whole'}`, async () => {
        const request = await receivedBy(wire, {}, stream);
        assertNothingStrange(request);
        switch (wire.dialect) {
          case 'anthropic':
            assert.equal(request.header('x-api-key'), wire.secrets[0]);
            assert.equal(request.header('anthropic-version'), '2023-06-01');
            assert.equal(request.path, '/v1/messages');
            break;
          case 'google':
            assert.equal(request.header('x-goog-api-key'), wire.secrets[0]);
            break;
          case 'bedrock':
            assert.equal(request.header('x-amz-security-token'), wire.secrets[2]);
            assert.match(
              request.header('authorization') ?? '',
              /AKIDBEDROCK0123456789\/\d{8}\/ap-northeast-2\/bedrock\/aws4_request/,
            );
            assert.equal(signatureOf(request), signatureDue(request, wire.secrets[1] ?? ''));
        }
        assert.equal(request.header('user-agent'), 'naru');
        assert.equal(request.header('accept-encoding'), null);
      });
    }

    test('configured headers are sent too', async () => {
      const request = await receivedBy(wire, { headers: { 'X-Own': 'own-value' } }, false);
      assert.equal(request.header('x-own'), 'own-value');
      if (wire.dialect === 'bedrock')
        assert.equal(signatureOf(request), signatureDue(request, wire.secrets[1] ?? ''));
    });

    // security:27
    test('without a credential none is sent; one of the environment never is', async () => {
      const none = wire.dialect === 'bedrock' ? { session_token: undefined } : { api_key: undefined };
      const request = await receivedBy(wire, none, false);
      assertNothingStrange(request);
      for (const name of ['x-api-key', 'x-goog-api-key', 'x-amz-security-token'])
        assert.equal(request.header(name), null);
      if (wire.dialect !== 'bedrock') assert.equal(request.header('authorization'), null);
    });
  });
}

test('bedrock accepts an API key instead of signing', async () => {
  const wire = wires.find(({ dialect }) => dialect === 'bedrock');
  assert.ok(wire !== undefined);
  const keys = { access_key_id: undefined, secret_access_key: undefined, session_token: undefined };
  const request = await receivedBy(wire, { ...keys, api_key: 'bedrock-api-key-0123456789' }, true);
  assertNothingStrange(request);
  assert.equal(request.header('authorization'), 'Bearer bedrock-api-key-0123456789');
});

async function receivedBy(wire: Wire, provider: object, stream: boolean): Promise<Received> {
  const world = await openWireWorld(wire, { provider });
  try {
    world.upstream.next(wire.responds({ blocks: [{ text: ['Hello.'] }] }));
    const { key } = await world.naru.account();
    assert.equal((await requestWire(world, key, { messages, stream })).text, 'Hello.');
    const [request] = world.upstream.requests;
    assert.ok(request !== undefined && world.upstream.requests.length === 1);
    assert.deepEqual(world.upstream.faults, []);
    return request;
  } finally {
    await world.close();
  }
}

function assertNothingStrange(request: Received): void {
  assert.doesNotMatch(
    JSON.stringify([request.headers, request.path, request.raw.toString()]),
    /env-(credential|region)/,
  );
}

function signatureOf(request: Received): string {
  return /Signature=([0-9a-f]{64})$/.exec(request.header('authorization') ?? '')?.[1] ?? 'none';
}

/** The signature of AWS version 4 that this request must carry, computed from what arrived. */
function signatureDue(received: Received, secret: string): string {
  const [, scope = '', names = ''] =
    /Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+),/.exec(received.header('authorization') ?? '') ?? [];
  const hash = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');
  const hmac = (key: string | Buffer, text: string): Buffer =>
    createHmac('sha256', key).update(text).digest();
  const encoded = received.path.split('/').map(encodeURIComponent).join('/');
  const headers = names.split(';').map((name) => `${name}:${received.header(name)}\n`);
  const request = ['POST', encoded, '', headers.join(''), names, hash(received.raw)].join('\n');
  const text = ['AWS4-HMAC-SHA256', received.header('x-amz-date'), scope, hash(request)].join('\n');
  const key = scope.split('/').reduce<string | Buffer>((made, part) => hmac(made, part), `AWS4${secret}`);
  return hmac(key, text).toString('hex');
}
