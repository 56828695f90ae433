import assert from 'node:assert/strict';
import { test } from 'node:test';
import { property, string } from 'fast-check';
import { clientMessage } from '../../src/upstreams/client-message.ts';
import { check } from '../harness/property.ts';

const sentences = [
  "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens.",
  "Invalid value for 'temperature': expected a number at most 2, got 3.5",
  "Invalid schema for function 'get_weather_forecast_v2': schema must be type 'object' (tools[0].function.parameters)",
  'messages.1.content.0: Input should be a valid dictionary; see /v1/chat/completions and /messages/1/content',
  'See https://platform.openai.com/docs/guides/error-codes for details.',
  'The reasoning_content in the thinking mode must be passed back to the API.',
  'max_tokens: 8192 > 4096, which is the maximum allowed for claude-3-haiku-20240307 and anthropic/claude-sonnet-4-5-20250929',
  '모델이 지원하지 않는 입력입니다: image_url',
];

test("an upstream's message about the request reaches the client unchanged", () => {
  for (const sentence of sentences) assert.equal(clientMessage(sentence, []), sentence);
});

const secrets = [
  'sk-proj-abcdefghijklmnop1234567890',
  'sk-ab******yz12',
  'Bearer abcdef0123456789',
  'gsk_abcdefghijklmnop',
  'AKIAIOSFODNN7EXAMPLE',
  'AIzaSyA-1234567890abcdefghijklm',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF',
  'hf_abcdefABCDEF123456',
  'd41d8cd98f00b204e9800998ecf8427e',
  'AbCdEfGhIjKlMnOpQrStUvWxYz0123456789',
  'password=hunter22',
  'api_key: "hunter22"',
  'https://user:hunter22@api.example.com/v1',
  'http://10.1.2.3:8000/v1/models',
  'https://llm.internal/v1?key=hunter22',
  'postgres://naru:hunter22@db/naru',
  '10.1.2.3:8000',
  '192.168.0.7',
  '[fd00::1]:8080',
  'fe80:0:0:0:1:2:3:4',
  'localhost:11434',
  'vllm-7:8000',
  'gpu1.seoul.corp',
  'vllm.default.svc.cluster.local',
  '/srv/models/llama/config.json',
  '/home/naru/.cache/huggingface/token',
  'C:\\Users\\naru\\model.gguf',
  'ops@example.com',
  'upstream.example.net',
];

test("the client's message has no key, credential, operator host or file path", () => {
  for (const secret of secrets)
    for (const sentence of [
      `bad request ${secret}`,
      `${secret}: not found`,
      `error (${secret}) at step 3`,
      `{"detail":"cannot use '${secret}'"}`,
      `first line\n  at load (${secret})\n`,
    ]) {
      const message = clientMessage(sentence, ['upstream.example.net']) ?? '';
      for (const part of ['hunter22', 'naru', secret])
        assert.ok(!message.includes(part), `${JSON.stringify(sentence)} → ${JSON.stringify(message)}`);
      assert.match(message, /\[(?:redacted|url|host|path)\]/);
    }
});

test('a message is one line of at most 500 characters that every client can parse, or none', () => {
  check(
    property(string({ unit: 'binary', maxLength: 2000 }), (text) => {
      const message = clientMessage(text, []);
      if (message === null) return;
      assert.ok(message.length <= 500 && message.length > 0 && message.isWellFormed());
      assert.doesNotMatch(message, /[\r\n\0]/);
    }),
  );
  assert.equal(clientMessage('x '.repeat(3000), [])?.length, 500);
  assert.ok(!clientMessage(`${'/a/b '.repeat(798)} sk-abcdefghijklmnop`, [])?.includes('sk-'));
  for (const nothing of ['', '  \n', '<html><body>413</body></html>'])
    assert.equal(clientMessage(nothing, []), null);
});
