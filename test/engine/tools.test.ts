import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type RunningEngine, startEngine } from './running-engine.ts';

let engine: RunningEngine;
before(async () => {
  engine = await startEngine();
});
after(async () => await engine.stop());

const weather = tool('get_weather', { location: { type: 'string' } }, ['location']);
const balance = tool('get_balance', {}, []);
const time = tool('get_time', {}, []);

test('for a question that a tool covers, the model calls the tool; with its result, it responds', async () => {
  const first = await chat([{ role: 'user', content: 'What is my balance?' }], { tools: [balance] });
  assert.equal(first.finish_reason, 'tool_calls');
  assert.equal(first.message.content, null);
  const [call] = first.message.tool_calls ?? [];
  assert.deepEqual(call?.function, { name: 'get_balance', arguments: '{}' });
  const second = await chat(
    [
      { role: 'user', content: 'What is my balance?' },
      first.message,
      { role: 'tool', tool_call_id: call?.id, content: '12,000 won' },
    ],
    { tools: [balance] },
  );
  assert.equal(second.finish_reason, 'stop');
  assert.equal(second.message.content, 'The tool has answered; its result stands above.');
});

test('of two tools it calls the matching one', async () => {
  for (const tools of [
    [time, balance],
    [balance, time],
  ]) {
    const choice = await chat([{ role: 'user', content: 'What is my balance?' }], { tools });
    assert.equal(choice.message.tool_calls?.[0]?.function.name, 'get_balance');
  }
});

test('the argument is taken from the question', async () => {
  const choice = await chat([{ role: 'user', content: 'What is the weather in Paris?' }], {
    tools: [weather],
  });
  assert.deepEqual(choice.message.tool_calls?.[0]?.function, {
    name: 'get_weather',
    arguments: '{"location":"Paris"}',
  });
});

test('a character that the model can only emit byte by byte is decoded whole', async () => {
  // The only word of the question is the only possible argument; its characters are in no token of
  // the vocabulary.
  const choice = await chat([{ role: 'user', content: '뷁쫽?' }], {
    tools: [weather],
    tool_choice: 'required',
  });
  assert.equal(choice.message.tool_calls?.[0]?.function.arguments, '{"location":"뷁쫽"}');
});

test('a question that needs no tool gets a text response although tools are offered', async () => {
  const choice = await chat([{ role: 'user', content: 'What is Naru?' }], { tools: [weather, balance] });
  assert.equal(choice.finish_reason, 'stop');
  assert.match(choice.message.content ?? '', /^Naru is an inference gateway/);
});

test('tool_choice is respected: none never calls, required and a name always do', async () => {
  const question = [{ role: 'user', content: 'What is my balance?' }];
  assert.equal((await chat(question, { tools: [balance], tool_choice: 'none' })).finish_reason, 'stop');
  const hello = [{ role: 'user', content: 'hello' }];
  assert.equal(
    (await chat(hello, { tools: [time], tool_choice: 'required' })).message.tool_calls?.[0]?.function.name,
    'get_time',
  );
  const named = { type: 'function', function: { name: 'get_time' } };
  assert.equal(
    (await chat(question, { tools: [balance, time], tool_choice: named })).message.tool_calls?.[0]?.function
      .name,
    'get_time',
  );
});

test('a tool that this model cannot fill is ignored, and the response is text', async () => {
  const hard = tool('transfer', { to: { type: 'string' }, amount: { type: 'number' } }, ['to', 'amount']);
  assert.equal(
    (await chat([{ role: 'user', content: 'What is my balance?' }], { tools: [hard] })).finish_reason,
    'stop',
  );
});

test('a tool call that max_tokens truncates is not returned as a call', async () => {
  const choice = await chat([{ role: 'user', content: 'hello' }], {
    tools: [balance],
    tool_choice: 'required',
    max_tokens: 2,
  });
  assert.equal(choice.finish_reason, 'length');
  assert.deepEqual(choice.message, { role: 'assistant', content: '' });
});

test('a streamed call has only tool_calls chunks and no text', async () => {
  const body = { stream: true, messages: [{ role: 'user', content: 'what time is it?' }], tools: [time] };
  const stream = await (await engine.post('/v1/chat/completions', body)).text();
  assert.match(
    stream,
    /"tool_calls":\[\{"index":0,"id":"call_\w+","type":"function","function":\{"name":"get_time","arguments":"\{\}"\}\}\]/,
  );
  assert.match(stream, /"finish_reason":"tool_calls"/);
  assert.doesNotMatch(stream, /<\|/);
});

interface Choice {
  readonly finish_reason: string;
  readonly message: {
    readonly content: string | null;
    readonly tool_calls?: readonly {
      readonly id: string;
      readonly function: { readonly name: string; readonly arguments: string };
    }[];
  };
}

async function chat(messages: readonly object[], more: object): Promise<Choice> {
  const response = await engine.post('/v1/chat/completions', { messages, ...more });
  const { choices } = (await response.json()) as { readonly choices: readonly [Choice] };
  return choices[0];
}

function tool(name: string, properties: object, required: readonly string[]): object {
  return { type: 'function', function: { name, parameters: { type: 'object', properties, required } } };
}
