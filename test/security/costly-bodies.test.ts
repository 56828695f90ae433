/** What the largest conversations cost the thread that all requests share, in processor time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anthropicDialect } from '../../src/dialects/anthropic/index.ts';
import { bedrockDialect } from '../../src/dialects/bedrock/index.ts';
import { googleDialect } from '../../src/dialects/google/index.ts';
import { parseCompletionRequest } from '../../src/inference/parse-request.ts';
import { maxima } from '../../src/wire/maxima.ts';

/** Milliseconds of this thread's processor since it was `since`. */
function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system - since.user - since.system) / 1_000;
}

const access = { baseUrl: 'https://upstream.test', apiKey: 'x', headers: {} };
const aws = { region: 'us-east-1', accessKeyId: '', secretAccessKey: '', sessionToken: '' };
const dialects = [anthropicDialect(access), googleDialect(access), bedrockDialect({ ...access, ...aws })];
const to = { model: 'claude-sonnet-4-5', modelId: 'a/b', supportedParameters: null } as const;
const destination = {
  ...to,
  maxCompletionTokens: null,
  variant: 'generic',
  overrides: {},
  price: {},
} as const;
const list = <T>(length: number, item: (n: number) => T): T[] => Array.from({ length }, (_, n) => item(n));
const callOf = (id: string, args: string) => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: args },
});
const sealed = { type: 'reasoning.encrypted', data: 'x', format: null };
/** Milliseconds of the processor; 10 to 70 are needed, and arguments that are parsed take 850. */
const maxTranslateMs = 400;
/** The largest conversations that are accepted, each of what a translator might compare. */
const conversations: Readonly<Record<string, readonly object[]>> = {
  instructions: list(maxima.messages - 1, () => ({ role: 'system', content: 'x' })),
  'reasoning of calls': [
    {
      role: 'assistant',
      tool_calls: list(maxima.toolCalls, (n) => callOf(`call ${n}`, '{}')),
      reasoning_details: list(15_000, (n) => ({ ...sealed, id: `detail ${n}` })),
    },
  ],
  'arguments of small values': list(32, (n) => ({
    role: 'assistant',
    tool_calls: [callOf(`call ${n}`, `{"a":[${'{},'.repeat(240_000)}{}]}`)],
  })),
  'deep arguments': [
    {
      role: 'assistant',
      tool_calls: [callOf('call', `{"a":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`)],
    },
  ],
};

// security:16
for (const [name, messages] of Object.entries(conversations))
  test(`a conversation of ${name} is translated in time that is linear in its length`, async (t) => {
    const body = { model: 'a/b', messages: [...messages, { role: 'user', content: 'x' }] };
    const bytes = Buffer.from(JSON.stringify(body));
    const request = parseCompletionRequest('chat', bytes, null);
    for (const dialect of dialects) {
      const small = { ...request, input: [{ role: 'user', content: 'x' }] };
      await dialect.encode(small, destination); // loads the package
      const began = process.threadCpuUsage();
      await dialect.encode(request, destination);
      const ms = cpuMs(began);
      t.diagnostic(`${dialect.name}: ${ms.toFixed(0)} ms`);
      assert.ok(ms < maxTranslateMs, `${dialect.name}: ${ms} ms`);
    }
  });
