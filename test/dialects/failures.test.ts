import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { dumpOf, ledgerOf } from '../harness/read-ledger.ts';
import { eventsOf } from '../harness/stream.ts';
import { fullOnly, sample } from '../harness/tier.ts';
import { eventually } from '../harness/until.ts';
import { gate, reply } from '../harness/upstream.ts';
import type { WireResponse } from '../harness/wire.ts';
import { openWireWorld, type WireWorld, wireModel, wires } from '../harness/wire-world.ts';

const hello: WireResponse = { blocks: [{ text: ['Hel', 'lo, ', '안녕'] }] };
const messages = [{ role: 'user', content: 'Say hello in two languages, please.' }];

for (const wire of wires) {
  describe(wire.dialect, () => {
    let world: WireWorld;
    before(async () => {
      world = await openWireWorld(wire);
    });
    after(() => world.close());

    async function failing(stream: boolean) {
      const { naru } = world;
      const account = await naru.account();
      const body = { model: wireModel, messages, stream };
      const response = await naru.send('POST', '/chat/completions', { key: account.key, body });
      const ledger = await ledgerOf(naru, account);
      assert.deepEqual(ledger.debits, [], 'a failure costs nothing');
      assert.equal(ledger.records.length, 1);
      return { response, record: ledger.records[0] };
    }

    for (const stream of [false, true]) {
      const how = stream ? 'streamed' : 'whole';

      for (const status of sample([400, 401, 403, 404, 429, 500, 503, 529], 4)) {
        test(`a ${how} request that is rejected with ${status} is a failed candidate with that status`, async () => {
          world.upstream.next(wire.refuses(status, 'scripted words', { 'retry-after': '17' }));
          const { response } = await failing(stream);
          assert.equal(response.status, 502);
          assert.equal(response.json.error.metadata.provider_code, status);
          assert.equal(response.headers.get('retry-after'), null);
          const line = world.naru.logged.findLast(({ event }) => event === 'attempt_failed');
          assert.deepEqual(
            [line?.['status'], line?.['reason'], line?.['retry_after_ms']],
            [status, 'scripted words', 17_000],
          );
        });
      }

      test(`an invalid response is a failed candidate ${how}`, async () => {
        const odds = [
          reply.json({}),
          reply.json([]),
          reply.json(null),
          reply.status(200, '<html>a proxy</html>'),
          reply.status(200, '['.repeat(200_000)),
          reply.status(200, `{"usage":${'['.repeat(50_000)}${']'.repeat(50_000)}}`),
          reply.json({ candidates: 7, content: 'x', output: null, type: 'message' }),
          reply.raw('nonsense'),
          reply.drop('rst'),
          reply.redirect('https://elsewhere.example/'),
        ];
        for (const odd of sample(odds, 5)) {
          world.upstream.next(odd);
          assert.equal((await failing(stream)).response.status, 502);
        }
      });
    }

    test('an error in the middle of a stream is an error of the stream', async () => {
      world.upstream.next(wire.breaks([{ text: ['Hel', 'lo'] }]));
      const { response } = await failing(true);
      const events = eventsOf(response.text);
      const error = events.find((event) => event.json?.error)?.json.error;
      assert.equal(error.metadata.error_type, 'provider_error');
      assert.equal(error.metadata.provider_code, String(wire.breaksWith));
      assert.equal(events.at(-1)?.data, '[DONE]');
    });

    test('an error before the first chunk of a stream is a failed candidate', async () => {
      world.upstream.next(wire.breaks([]));
      const { response } = await failing(true);
      assert.equal(response.status, 502);
      assert.equal(response.json.error.metadata.provider_code, wire.breaksWith);
    });

    if (wire.dialect === 'google')
      test('a malformed call of a function, which the package reads as an error, is a failed candidate', async () => {
        const parts = [{ text: 'Hel' }];
        const candidates = [
          { content: { parts, role: 'model' }, finishReason: 'MALFORMED_FUNCTION_CALL', index: 0 },
        ];
        world.upstream.next(reply.json({ candidates }));
        assert.equal((await failing(false)).response.status, 502);
      });

    test('a client that disconnects in the middle ends the upstream request and pays for what it received', async () => {
      const { naru, upstream } = world;
      const account = await naru.account();
      const stop = gate();
      const streamed = wire.responds(hello);
      const bytes = streamed.bytes({ stream: true }, pathOf(wire.dialect));
      upstream.next(streamed.pauseAt(bytes.length - 5, stop));
      const left = new AbortController();
      const response = await fetch(`${naru.url}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: wireModel, messages, stream: true }),
        signal: left.signal,
      });
      await response.body?.getReader().read();
      const sent = upstream.requests.at(-1);
      left.abort();
      await sent?.aborted;
      const ledger = await eventually('the record', 20_000, async () => {
        const read = await ledgerOf(naru, account);
        return read.records.length === 0 ? null : read;
      });
      assert.equal(ledger.records[0].cancelled, true);
      assert.equal(ledger.debits.length, 1);
    });

    // The limit is that of every dialect: the quick tier starts the gateway for one of them.
    test('a silent upstream times out', wire === wires[0] ? {} : fullOnly, async () => {
      const quick = await openWireWorld(wire, { provider: { first_byte_timeout_ms: 50 } });
      try {
        for (const stream of [false, true]) {
          quick.upstream.next(reply.hang());
          const account = await quick.naru.account();
          const body = { model: wireModel, messages, stream };
          const response = await quick.naru.send('POST', '/chat/completions', { key: account.key, body });
          assert.equal(response.status, 408);
        }
      } finally {
        await quick.close();
      }
    });

    test("a provider's credential is only in its requests", async () => {
      const { naru, upstream } = world;
      const account = await naru.account();
      const echoes = wire.secrets.join(' and ');
      const responses: string[] = [];
      for (const stream of [false, true]) {
        upstream.next(wire.refuses(401, `no such credential: ${echoes}`), reply.status(500, echoes));
        for (let n = 0; n < 2; n += 1) {
          const body = { model: wireModel, messages, stream };
          const response = await naru.send('POST', '/chat/completions', { key: account.key, body });
          responses.push(response.text, JSON.stringify([...response.headers]));
        }
      }
      const everything = [...responses, JSON.stringify(naru.logged), await dumpOf(naru)].join('\n');
      assert.match(everything, /no such credential: \*\*\*/);
      for (const secret of wire.secrets) assert.ok(!everything.includes(secret), secret);
    });
  });
}

function pathOf(dialect: string): string {
  return dialect === 'google' ? '/v1beta/models/m:streamGenerateContent?alt=sse' : '/model/m/converse-stream';
}
