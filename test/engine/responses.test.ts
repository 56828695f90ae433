import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fallback, topics } from '../../tools/demo-model/corpus.ts';
import { byTier } from '../harness/tier.ts';
import { jsonResponse, type RunningEngine, startEngine } from './running-engine.ts';

let engine: RunningEngine;
before(async () => {
  engine = await startEngine();
});
after(async () => await engine.stop());

test('the shipped model matches its checksum', () => {
  const model = new URL('../../demo-engine/model/naru-demo.gguf', import.meta.url);
  const [wanted] = readFileSync(new URL(`${model.href}.sha256`), 'utf8').split(' ');
  assert.equal(createHash('sha256').update(readFileSync(model)).digest('hex'), wanted);
});

const naru = {
  en: 'Naru is an inference gateway that a company runs on its own machines. A naru is a ferry landing: the place where you cross over.',
  ko: '나루는 회사가 자기 서버에서 직접 운영하는 추론 게이트웨이입니다. 나루는 나루터, 곧 강을 건너는 곳을 뜻합니다.',
};

const ways: readonly (readonly [language: 'en' | 'ko', question: string])[] = [
  ['en', 'What is Naru?'],
  ['en', 'what is naru'],
  ['en', 'WHAT IS NARU?'],
  ['en', "What's Naru?"],
  ['en', 'Please tell me, what is Naru?'],
  ['en', 'Hello! What is Naru?'],
  ['en', 'What is Naru? Answer in one sentence.'],
  ['ko', '나루가 뭐야?'],
  ['ko', '나루가 뭐야'],
  ['ko', '나루가뭐야?'],
  ['ko', '나루가 뭐예요?'],
  ['ko', '안녕하세요. 나루가 뭐야?'],
  ['ko', '혹시 나루가 뭐야??'],
];

test('"What is Naru?" gets its answer in every wording, streamed and not', async () => {
  for (const [language, question] of ways) {
    const whole = await engine.question(question);
    assert.equal(whole.text, naru[language], question);
    assert.equal(whole.finish, 'stop');
    const streamed = await engine.requestInChunks(question);
    assert.equal(streamed.text, naru[language], question);
    assert.equal(streamed.finish, 'stop');
    assert.equal(streamed.last, 'data: [DONE]');
    assert.ok(streamed.pieces.length > 5);
    assert.deepEqual(streamed.usage, whole.usage);
  }
});

test('a system prompt, however long, and earlier turns do not change the answer', async () => {
  const question = { role: 'user', content: 'What is Naru?' };
  const contexts = [
    [{ role: 'system', content: 'You are a helpful assistant.' }],
    [{ role: 'developer', content: 'Use the tools that you are given. '.repeat(byTier(200, 1000)) }],
    [
      { role: 'user', content: '안녕' },
      { role: 'assistant', content: '안녕하세요! 저는 나루의 데모 모델입니다.' },
    ],
    [
      { role: 'system', content: '한국어로 답하세요.' },
      { role: 'user', content: 'what is a slot?' },
      { role: 'assistant', content: null },
      { role: 'user', content: [{ type: 'text', text: 'thanks' }] },
      { role: 'assistant', content: 'You are welcome. Have a nice day!' },
    ],
  ];
  for (const context of contexts) {
    const response = await jsonResponse(
      await engine.post('/v1/chat/completions', { messages: [...context, question] }),
    );
    assert.equal(response.text, naru.en);
    assert.ok(response.usage.prompt_tokens > 9);
  }
});

test('the plainest question of each topic of the corpus gets its answer, nearly always', async () => {
  const request = topics.map(
    async ({ questions: [question = ''], answer }) => (await engine.question(`${question}?`)).text === answer,
  );
  const right = (await Promise.all(request)).filter(Boolean).length;
  assert.ok(right >= topics.length - 3, `${right} of ${topics.length} were right`);
});

test('a question outside the corpus is declined politely in its language', async () => {
  assert.equal((await engine.question('What is the capital of Germany?')).text, fallback.en);
  assert.equal((await engine.question('독일의 수도가 뭐야?')).text, fallback.ko);
});

test('eight concurrent requests on four lanes all get the right answer', async () => {
  const questions = Array.from({ length: 8 }, (_, index) =>
    index % 2 === 0 ? 'What is Naru?' : '나루가 뭐야?',
  );
  const responses = await Promise.all(
    questions.map(async (question) => (await engine.question(question)).text),
  );
  assert.deepEqual(
    responses,
    questions.map((question) => (question.startsWith('W') ? naru.en : naru.ko)),
  );
});

test('a plain completion continues its prompt', async () => {
  const response = await engine.post('/v1/completions', { prompt: 'Naru is an inference' });
  const body = (await response.json()) as { readonly choices: readonly [{ readonly text: string }] };
  assert.equal(`Naru is an inference${body.choices[0].text}`, naru.en);
});
