/**
 * Every stream, split at every byte and cut off at every byte (the quick tier samples the bytes).
 * Each position is tried on the dialect itself, with the bytes as a connection would deliver them;
 * some of them through the whole gateway.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Bytes } from '../../src/dialects/dialect.ts';
import { nextOf } from '../../src/wire/receiver.ts';
import { ledgerOf } from '../harness/read-ledger.ts';
import { eventsOf } from '../harness/stream.ts';
import { byTier, sampledRange } from '../harness/tier.ts';
import type { WireResponse } from '../harness/wire.ts';
import { frame } from '../harness/wire-bedrock.ts';
import { begin, listen, type ReadEvents, streamOf, streamPaths } from '../harness/wire-listen.ts';
import { understoodStream } from '../harness/wire-request.ts';
import { openWireWorld, type WireWorld, wireModel, wires } from '../harness/wire-world.ts';

const response: WireResponse = {
  blocks: [
    { thought: ['Hm, ', '음.'], signature: 'c2ln' },
    { text: ['안', '녕 😀'] },
    { call: { id: 'call_1', name: 'weather', args: ['{"city":', '"서울"}'] } },
  ],
  stop: 'tools',
  usage: { prompt: 12, completion: 20, cacheRead: 4 },
};
/** How many places of a stream the quick tier tries. */
const quickPlaces = 12;
const body = { model: wireModel, stream: true, messages: [{ role: 'user', content: 'Say hello, please.' }] };

/** More of the same text, in each format. */
const more = 'a'.repeat(8192);
const chatter = {
  anthropic: Buffer.from(
    `data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"${more}"}}\n\n`,
  ),
  google: Buffer.from(`data: {"candidates":[{"content":{"role":"model","parts":[{"text":"${more}"}]}}]}\n\n`),
  bedrock: frame('event', 'contentBlockDelta', { contentBlockIndex: 1, delta: { text: more } }),
};

for (const wire of wires) {
  describe(wire.dialect, () => {
    const scripted = wire.responds(response);
    const stream = streamOf(wire, response);
    let whole: ReadEvents;
    before(async () => {
      whole = await listen(wire, [stream]);
      assert.equal(whole.failed, null);
      assert.ok(whole.done);
      assert.ok(stream.length > 1000 && whole.text === '안녕 😀', 'there is something to cut');
    });

    test('split at every byte it decodes the same', async () => {
      for (const at of sampledRange(1, stream.length, quickPlaces))
        assert.deepEqual(
          await listen(wire, [stream.subarray(0, at), stream.subarray(at)]),
          whole,
          `at ${at}`,
        );
    });

    test('one byte at a time it decodes the same', async () => {
      const bytes = Array.from(stream, (_, at) => stream.subarray(at, at + 1));
      assert.deepEqual(await listen(wire, bytes), whole);
    });

    test('cut off at every byte it decodes a prefix, and an end only if that had arrived', async () => {
      for (const at of sampledRange(0, stream.length, quickPlaces)) {
        const decoded = await listen(wire, [stream.subarray(0, at)], new Error('cut'));
        if (decoded.done) assert.deepEqual({ ...decoded, failed: null }, whole, `complete at ${at}`);
        else assert.equal(decoded.failed, 'Error: cut', `at ${at}`);
        assert.ok(whole.text.startsWith(decoded.text), `at ${at}`);
      }
    });

    test('closed without an error at every byte it has an end only if that had arrived', async () => {
      for (const at of sampledRange(0, stream.length, quickPlaces)) {
        const read = await listen(wire, [stream.subarray(0, at)]);
        // The usage arrives last: without it there may still be an end, and we count ourselves.
        if (read.done) {
          assert.deepEqual(
            { ...read, claim: null, failed: null },
            { ...whole, claim: null },
            `complete at ${at}`,
          );
          assert.ok(at > stream.length * 0.5, `complete at ${at} of ${stream.length}`);
        }
        assert.ok(whole.text.startsWith(read.text), `at ${at}`);
      }
    });

    test('damaged bytes never decode to another billable response', async () => {
      for (const at of sampledRange(0, stream.length, quickPlaces)) {
        const damaged = Buffer.from(stream);
        damaged[at] = (damaged[at] ?? 0) ^ 0x01;
        const read = await listen(wire, [damaged]);
        // Only frames have checksums; lines of text do not.
        if (wire.dialect === 'bedrock' && read.failed === null && read.done)
          assert.deepEqual(read, whole, `at ${at}`);
      }
    });

    test('an event without an end is rejected before it fills the memory', async () => {
      const endless = Buffer.alloc(1024 * 1024, wire.dialect === 'bedrock' ? 0x20 : 0x61);
      const read = await listen(wire, [Buffer.from('data: '), ...Array.from({ length: 32 }, () => endless)]);
      assert.match(read.failed ?? '', /too long|checksum/i);
    });

    if (wire.dialect !== 'bedrock')
      test('an event of too many lines or parts is rejected before the package parses it', async () => {
        const lines = Buffer.from('data\n'.repeat(20_000));
        const parts = Buffer.from(`data: {"a":[${'{},'.repeat(600_000)}{}]}\n\n`);
        for (const event of [lines, parts])
          assert.match((await listen(wire, [event, stream])).failed ?? '', /too (long|many)/);
      });

    test('an upstream is paused while nothing reads', async () => {
      let given = 0;
      const endless: Bytes = {
        read(receiver) {
          given += 1;
          setImmediate(() => receiver.take(chatter[wire.dialect]));
        },
      };
      const decoder = (await begin(wire)).readStream(endless, null);
      await nextOf(decoder);
      const before = given;
      for (let n = 0; n < 200; n += 1) await turn();
      assert.ok(given - before < 100, `${given} reads`);
    });

    describe('through the gateway', () => {
      let world: WireWorld;
      before(async () => {
        world = await openWireWorld(wire);
      });
      after(() => world.close());

      test('split anywhere it is the same response; cut anywhere it is a failure that costs nothing', async () => {
        const { naru, upstream } = world;
        const send = async (reply: typeof scripted) => {
          const account = await naru.account();
          upstream.next(reply);
          const response = await naru.send('POST', '/chat/completions', { key: account.key, body });
          const ledger = await ledgerOf(naru, account);
          assert.equal(ledger.records.length, 1, 'one record');
          return { response, ledger };
        };
        const full = await send(scripted);
        const read = understoodStream(full.response.text);
        const length = scripted.bytes({ stream: true, model: wire.model }, streamPaths[wire.dialect]).length;
        const step = Math.floor(length / byTier(3, 24));
        for (let at = 3; at < length; at += step) {
          const { response: received, ledger } = await send(scripted.splitAt(at));
          assert.deepEqual(understoodStream(received.text), read, `divided at ${at}`);
          assert.deepEqual(ledger.debits, full.ledger.debits);
        }
        for (let at = 0; at < length; at += step) {
          for (const by of ['fin', 'rst'] as const) {
            const { response: received, ledger } = await send(scripted.cutAt(at, by));
            const events = received.status === 200 ? eventsOf(received.text) : [];
            const isComplete = received.status === 200 && !events.some((event) => event.json?.error);
            if (isComplete) assert.deepEqual(understoodStream(received.text), read, `cut at ${at}`);
            assert.deepEqual(ledger.debits, isComplete ? full.ledger.debits : [], `cut at ${at}`);
          }
        }
      });
    });
  });
}
