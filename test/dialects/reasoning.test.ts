import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Wire, WireResponse } from '../harness/wire.ts';
import { requestWire as send, weather } from '../harness/wire-request.ts';
import { openWireWorld, type WireWorld, wires } from '../harness/wire-world.ts';

const messages = [{ role: 'user', content: 'How warm is it in Seoul right now?' }];
const signature = 'c2lnbmF0dXJlLW9mLWEtdGhvdWdodA==';
const thinks: WireResponse = {
  blocks: [
    { thought: ['The user wants ', 'the weather. '], signature },
    { text: ['One moment.'] },
    {
      call: { id: 'call_01', name: 'weather', args: ['{"city":"Seoul"}'] },
      signature: 'c2lnbmF0dXJlLW9mLWEtY2FsbA==',
    },
  ],
  stop: 'tools',
  usage: { prompt: 12, completion: 40, reasoning: 20 },
};
const format: Readonly<Record<Wire['dialect'], string>> = {
  anthropic: 'anthropic-claude-v1',
  bedrock: 'anthropic-claude-v1',
  google: 'google-gemini-v1',
};

for (const wire of wires) {
  describe(wire.dialect, () => {
    let world: WireWorld;
    let key: string;
    before(async () => {
      world = await openWireWorld(wire);
      ({ key } = await world.naru.account({ credit: '1000000' }));
    });
    after(() => world.close());
    const sent = (): Readonly<Record<string, unknown>> => world.upstream.requests.at(-1)?.body ?? {};

    for (const stream of [false, true]) {
      const how = stream ? 'streamed' : 'whole';

      test(`reasoning is relayed ${how}, and returned with its signature`, async () => {
        world.upstream.next(wire.responds(thinks), wire.responds({ blocks: [{ text: ['21 degrees.'] }] }));
        const first = await send(world, key, {
          messages,
          stream,
          tools: [weather],
          reasoning: { effort: 'low' },
        });
        assert.equal(first.reasoning, 'The user wants the weather. ');
        assert.equal(first.text, 'One moment.');
        assert.ok(first.details.every((detail) => detail['format'] === format[wire.dialect]));
        if (wire.dialect !== 'bedrock')
          assert.equal(first.usage.completion_tokens_details.reasoning_tokens, 20);
        const assistant = {
          role: 'assistant',
          content: first.text,
          tool_calls: first.calls,
          reasoning_details: first.details,
        };
        const result = { role: 'tool', tool_call_id: first.calls[0]?.id, content: '21' };
        await send(world, key, {
          messages: [...messages, assistant, result],
          stream,
          tools: [weather],
          reasoning: { effort: 'low' },
        });
        assert.deepEqual(thoughtsSent(wire, sent()), [{ text: 'The user wants the weather. ', signature }]);
        if (wire.dialect === 'google')
          assert.match(
            JSON.stringify(sent()),
            /"functionCall":\{[^}]*\}\},"thoughtSignature":"c2lnbmF0dXJlLW9mLWEtY2FsbA=="/,
          );
      });

      test(`a client that excludes reasoning gets none ${how}, and pays for it`, async () => {
        world.upstream.next(wire.responds({ ...thinks, stop: 'end', blocks: thinks.blocks.slice(0, 2) }));
        const { reasoning, details, text, usage } = await send(world, key, {
          messages,
          stream,
          reasoning: { effort: 'low', exclude: true },
        });
        assert.deepEqual({ reasoning, details, text }, { reasoning: '', details: [], text: 'One moment.' });
        assert.equal(usage.completion_tokens, 40);
      });
    }

    test('summarised reasoning is billed in full', async () => {
      for (const stream of [false, true]) {
        const response = { blocks: thinks.blocks.slice(0, 2), usage: { prompt: 12, completion: 4000 } };
        const counted = wire.dialect === 'google' ? { reasoning: 3990 } : {};
        world.upstream.next(wire.responds({ ...response, usage: { ...response.usage, ...counted } }));
        const { usage } = await send(world, key, { messages, stream, reasoning: { effort: 'low' } });
        assert.equal(usage.completion_tokens, 4000);
        world.upstream.next(wire.responds({ blocks: [{ text: ['Two words.'] }], usage: response.usage }));
        const plain = await send(world, key, { messages, stream });
        assert.ok(plain.usage.completion_tokens < 100, 'without a thought that is not plausible');
      }
    });

    test('reasoning signed by another maker is not sent', async () => {
      world.upstream.next(wire.responds({ blocks: [{ text: ['Fine.'] }] }));
      const foreign = {
        type: 'reasoning.text',
        text: 'Hm.',
        signature: 'x',
        format: 'xai-responses-v1',
        index: 0,
      };
      const assistant = { role: 'assistant', content: 'Yes?', reasoning_details: [foreign] };
      await send(world, key, { messages: [...messages, assistant, ...messages], stream: false });
      assert.deepEqual(thoughtsSent(wire, sent()), []);
      assert.doesNotMatch(JSON.stringify(sent()), /Hm\./);
    });

    test('the maximum completion includes reasoning', async () => {
      for (const reasoning of [{ effort: 'high' }, { max_tokens: 4000 }, { max_tokens: 100_000 }]) {
        world.upstream.next(wire.responds({ blocks: [{ text: ['Fine.'] }] }));
        await send(world, key, { messages, stream: false, max_tokens: 8000, reasoning });
        assert.equal(maxSent(wire, sent()), 8000, JSON.stringify(reasoning));
        assert.ok(budgetSent(wire, sent()) >= 1024 || wire.dialect === 'google');
        assert.ok(budgetSent(wire, sent()) < 8000 || wire.dialect === 'google');
      }
      world.upstream.next(wire.responds({ blocks: [{ text: ['Fine.'] }] }));
      await send(world, key, { messages, stream: false, max_tokens: 500, reasoning: { effort: 'high' } });
      assert.equal(maxSent(wire, sent()), 500, 'no room to think');
    });
  });
}

for (const wire of wires.filter(({ dialect }) => dialect !== 'google')) {
  test(`${wire.dialect}: encrypted reasoning is returned unchanged`, async () => {
    const world = await openWireWorld(wire);
    try {
      const { key } = await world.naru.account();
      for (const stream of [false, true]) {
        const reply = wire.responds({ blocks: [{ sealed: 'b3BhcXVl' }, { text: ['Fine.'] }] });
        world.upstream.next(reply, reply);
        const { details, reasoning, text } = await send(world, key, { messages, stream });
        assert.deepEqual(details, [
          { type: 'reasoning.encrypted', data: 'b3BhcXVl', format: 'anthropic-claude-v1', index: 0 },
        ]);
        assert.equal(reasoning, '');
        const assistant = { role: 'assistant', content: text, reasoning_details: details };
        await send(world, key, { messages: [...messages, assistant, ...messages], stream });
        const body = JSON.stringify(world.upstream.requests.at(-1)?.body);
        assert.match(body, /"(data|redactedContent)":"b3BhcXVl"/);
      }
    } finally {
      await world.close();
    }
  });
}

type Json = Readonly<Record<string, never>>;

/** The reasoning of a request in the upstream's format, as text and signature. */
function thoughtsSent(wire: Wire, body: object): readonly object[] {
  const { messages: requests = [], contents = [] } = body as { messages?: Json[]; contents?: Json[] };
  // biome-ignore lint/suspicious/noExplicitAny: three formats at once
  const parts: any[] = [
    ...requests.map(({ content }) => content),
    ...contents.map(({ parts: inside }) => inside),
  ].flat();
  switch (wire.dialect) {
    case 'anthropic':
      return parts
        .filter((part) => part.type === 'thinking')
        .map((part) => ({ text: part.thinking, signature: part.signature }));
    case 'google':
      return parts
        .filter((part) => part.thought === true)
        .map((part) => ({ text: part.text, signature: part.thoughtSignature }));
    case 'bedrock':
      return parts
        .filter((part) => part.reasoningContent?.reasoningText !== undefined)
        .map((part) => part.reasoningContent.reasoningText);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: three formats at once
function maxSent(wire: Wire, body: any): number {
  if (wire.dialect === 'anthropic') return body.max_tokens;
  return wire.dialect === 'google' ? body.generationConfig.maxOutputTokens : body.inferenceConfig.maxTokens;
}

// biome-ignore lint/suspicious/noExplicitAny: three formats at once
function budgetSent(wire: Wire, body: any): number {
  const thinking = wire.dialect === 'anthropic' ? body.thinking : body.additionalModelRequestFields?.thinking;
  return thinking?.budget_tokens ?? 0;
}
