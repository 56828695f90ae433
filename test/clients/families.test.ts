/**
 * Two turns with a tool and a thought, by every client and on every family of models, each behind an
 * upstream that judges the requests as its provider does.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { ChatOpenRouter } from '@langchain/openrouter';
import { weather } from '../harness/client-world.ts';
import { type FamilyWorld, openFamilyWorld } from '../harness/family-world.ts';
import { sample } from '../harness/tier.ts';
import { costOf, families } from '../providers/families.ts';
import type { Setting } from '../works-with/client.ts';
import { prompt, type ToolClient, toolClients } from './tool-clients.ts';

let opened: FamilyWorld;
before(async () => {
  opened = await openFamilyWorld();
  opened.respond((family, request) => {
    const [result] = family.results(request.body);
    const degrees = /"(\d\d)"/.exec(JSON.stringify(result ?? ''))?.[1];
    return degrees === undefined
      ? family.generates({ call: { name: 'weather', args: { city: 'Seoul' } } }, request)
      : family.generates({ text: `${degrees}도` }, request);
  });
});
after(async () => {
  await opened?.close();
});

/** LangChain keeps no thoughts in the form of our API. */
function langchain(name: string, model: (to: Setting) => BaseChatModel): ToolClient {
  return {
    name,
    streams: true,
    lacks: ['reasoning', 'reasoning_content', 'reasoning_details'],
    async run(to, stream) {
      const bound = model(to).bindTools?.([weather.tool]);
      assert.ok(bound !== undefined);
      const send = async (messages: Parameters<typeof bound.invoke>[0]) =>
        stream
          ? (await Array.fromAsync(await bound.stream(messages))).reduce((sum, chunk) => sum.concat(chunk))
          : bound.invoke(messages);
      const first = await send([new HumanMessage(prompt)]);
      const [call] = first.tool_calls ?? [];
      const result = new ToolMessage({ content: '18', tool_call_id: call?.id ?? '' });
      return (await send([new HumanMessage(prompt), first, result])).text;
    },
  };
}

const clients = [
  ...toolClients,
  langchain(
    '@langchain/openai',
    ({ url, key, model }) =>
      new ChatOpenAI({
        ...{ model, apiKey: key, maxRetries: 0, configuration: { baseURL: url } },
        modelKwargs: { reasoning_effort: 'medium' },
      }),
  ),
  langchain(
    '@langchain/openrouter',
    ({ url, key, model }) =>
      new ChatOpenRouter({
        ...{ model, apiKey: key, maxRetries: 0, baseURL: url },
        modelKwargs: { reasoning: { effort: 'medium' } },
      }),
  ),
];

for (const client of clients)
  describe(client.name, () => {
    for (const family of sample(families, 4))
      test(`two turns of ${family.api}, each accepted and billed once`, async () => {
        const served = opened.served.find((one) => one.family === family);
        assert.ok(served !== undefined);
        const { model, upstream, rejected } = served;
        for (const stream of client.streams ? [false, true] : [false]) {
          const payer = await opened.world.payer();
          const before = upstream.requests.length;
          const answer = await client
            .run({ url: opened.world.url, key: payer.key, model }, stream)
            .catch((error: unknown) => String(error));
          assert.deepEqual({ answer, rejected }, { answer: '18도', rejected: [] });
          const sent = upstream.requests.slice(before);
          assert.equal(sent.length, 2);
          await payer.charged(...sent.map(costOf));
          const keeps = client.lacks === undefined || !client.lacks.includes('reasoning_details');
          if (family.mark !== null && keeps)
            assert.ok(sent[1]?.raw.includes(JSON.stringify(family.mark).slice(1, -1)), 'the thought returns');
        }
      });
  });
