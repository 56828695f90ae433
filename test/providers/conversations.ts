import fc from 'fast-check';

/*
 * Conversations as clients send them: agents with parallel calls, foreign ids and names, blank and
 * empty members, instructions anywhere, images with wrong labels, thoughts of other models.
 */

/** A text with a marker that occurs nowhere else, so that its loss is noticed. */
const spoken = fc
  .tuple(fc.constantFrom('go', '안녕', 'cut \ud83d here', 'a\nb '), fc.uuid())
  .map(([text, id]) => `${text} ${id}`);
const blank = fc.constantFrom('', ' ', '\n\n');
const text = fc.oneof({ weight: 8, arbitrary: spoken }, { weight: 1, arbitrary: blank });

const jpeg = '/9j/4AAQSkZJRgABAQ==';
const png = 'iVBORw0KGgo=';
const image = fc
  .tuple(fc.constantFrom('image/png', 'image/jpg', 'image/jpeg'), fc.constantFrom(jpeg, png))
  .map(([type, data]) => ({ type: 'image_url', image_url: { url: `data:${type};base64,${data}` } }));
const textPart = text.map((value) => ({ type: 'text', text: value }));
const none = fc.constantFrom(
  {},
  {},
  { name: null },
  { refusal: null, audio: null, function_call: null, annotations: [] },
);

const name = fc.constantFrom(
  ...['look', 'get_weather', 'dev.server', 'mcp:tools/list', '날씨_조회', '1st', `long_${'x'.repeat(190)}`],
);
const callId = fc.oneof(
  { weight: 4, arbitrary: fc.uuid().map((id) => `call_${id.slice(0, 24)}`) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'functions.look:0',
      'toolu_01AbC',
      `call_${'a'.repeat(57)}`,
      '호출',
      'fc-1',
      'abcdefghi',
    ),
  },
);
const args = fc.oneof(
  spoken.map((value) => JSON.stringify({ value })),
  fc.constantFrom('', '{}', '{"cut":'),
);

/** How a client treats the results of its calls. */
const fate = fc.constantFrom(
  'answered',
  'answered',
  'answered',
  'answered',
  'answered',
  'answered',
  'lost',
  'twice',
);
const result = fc.oneof(
  { weight: 6, arbitrary: text },
  { weight: 1, arbitrary: fc.array(textPart, { minLength: 1, maxLength: 2 }) },
  { weight: 1, arbitrary: fc.tuple(textPart, image).map((parts) => parts) },
  { weight: 1, arbitrary: fc.constant(null) },
);
const thoughts = fc.constantFrom(
  {},
  {},
  {},
  { reasoning: 'because' },
  { reasoning_content: 'because', reasoning: null },
  {
    reasoning_details: [
      { type: 'reasoning.text', text: 'because', signature: 'c2ln', format: 'google-gemini-v1', index: 0 },
    ],
  },
  {
    reasoning_details: [
      { type: 'reasoning.text', text: 'because', signature: 'c2ln', format: 'anthropic-claude-v1', index: 0 },
    ],
  },
  {
    reasoning_details: [
      { type: 'reasoning.encrypted', data: 'gAAA', format: 'openai-responses-v1', id: 'rs_1', index: 0 },
    ],
  },
);

type Message = Readonly<Record<string, unknown>>;
const instruction = fc
  .tuple(fc.constantFrom('system', 'developer'), text, none)
  .map(([role, content, more]): readonly Message[] => [{ role, content, ...more }]);
const userTurn = fc
  .tuple(
    fc.oneof(text, fc.array(fc.oneof(textPart, image), { maxLength: 3 })),
    fc.constantFrom({}, {}, { name: 'kim' }),
  )
  .map(([content, more]): readonly Message[] => [{ role: 'user', content, ...more }]);
const answer = fc
  .tuple(fc.oneof(text, fc.constant(null)), thoughts, none)
  .map(([content, thought, more]): readonly Message[] => [
    { role: 'assistant', content, ...more, ...thought, ...(content === null ? { tool_calls: [] } : {}) },
  ]);

const calls = fc
  .array(fc.tuple(callId, name, args, fate, result), { minLength: 1, maxLength: 3 })
  .filter((all) => new Set(all.map(([id]) => id)).size === all.length);
const toolTurn = fc
  .tuple(
    calls,
    fc.oneof(text, fc.constant(null)),
    thoughts,
    fc.option(fc.oneof(instruction, userTurn)),
    fc.boolean(),
  )
  .map(([all, content, thought, between, isReversed]): readonly Message[] => {
    const results = all.flatMap(([id, , , end, output]) => {
      const one = { role: 'tool', tool_call_id: id, content: output };
      return end === 'lost' ? [] : end === 'twice' ? [one, one] : [one];
    });
    const ordered = isReversed ? results.toReversed() : results;
    return [
      {
        role: 'assistant',
        content,
        ...thought,
        tool_calls: all.map(([id, called, stated], index) => ({
          id,
          type: 'function',
          index,
          function: { name: called, arguments: stated },
        })),
      },
      ...ordered.slice(0, 1),
      ...(between ?? []),
      ...ordered.slice(1),
    ];
  });
const legacyTurn = fc.tuple(name, args, text).map(([called, stated, output]): readonly Message[] => [
  { role: 'assistant', content: null, function_call: { name: called, arguments: stated } },
  { role: 'function', name: called, content: output },
]);

const messages = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: userTurn },
      { weight: 2, arbitrary: answer },
      { weight: 3, arbitrary: toolTurn },
      { weight: 1, arbitrary: instruction },
      { weight: 1, arbitrary: legacyTurn },
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((turns) => turns.flat());

const schema = fc.constantFrom(
  undefined,
  null,
  {},
  { properties: { value: { type: 'string' } } },
  {
    type: 'object',
    properties: { value: { type: 'string', description: 'v' } },
    required: ['value'],
    additionalProperties: false,
  },
  {
    type: 'object',
    properties: { a: { $ref: '#/$defs/p' }, b: { type: ['string', 'null'] } },
    $defs: { p: { type: 'object', properties: {} } },
  },
);
const tool = fc
  .tuple(name, schema, fc.constantFrom(undefined, '', 'does it'), fc.constantFrom(undefined, null, true))
  .map(([own, parameters, description, strict]) => ({
    type: 'function',
    function: {
      name: own,
      ...(parameters === undefined ? {} : { parameters }),
      ...(description === undefined ? {} : { description }),
      ...(strict === undefined ? {} : { strict }),
    },
  }));
const tools = fc
  .array(tool, { maxLength: 3 })
  .map((all) => [...new Map(all.map((one) => [one.function.name, one])).values()]);
const choice = fc.constantFrom('auto', 'none', 'required', 'named');
const answerSchema = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
};
const format = fc.constantFrom(
  { type: 'text' },
  { type: 'json_object' },
  { type: 'json_schema', json_schema: { name: 'answer', schema: answerSchema, strict: true } },
);

/** A body of `POST /chat/completions`. */
export const conversation = fc
  .record(
    {
      messages,
      tools,
      tool_choice: choice,
      parallel_tool_calls: fc.boolean(),
      response_format: format,
      stop: fc.constantFrom('END', ['\n', 'END'], ['', ' '], ['a', 'b', 'c', 'd', 'e', 'f']),
      reasoning: fc.constantFrom(
        { effort: 'high' },
        { max_tokens: 2000 },
        { enabled: false },
        { effort: 'none' },
      ),
      max_tokens: fc.constantFrom(100, 5000, 20_000),
      temperature: fc.constantFrom(0, 1),
      seed: fc.constant(7),
      stream: fc.boolean(),
    },
    { requiredKeys: ['messages'] },
  )
  .map(({ tool_choice: stated, ...body }) => ({
    model: 'a/b',
    ...body,
    ...(stated === undefined ? {} : { tool_choice: choiceOf(stated, body.tools ?? []) }),
  }));

function choiceOf(
  stated: string,
  declared: readonly { readonly function: { readonly name: string } }[],
): unknown {
  const [first] = declared;
  if (stated !== 'named') return stated;
  return first === undefined ? 'auto' : { type: 'function', function: { name: first.function.name } };
}

/** The markers of everything that was spoken. */
export function markersOf(value: unknown): ReadonlySet<string> {
  const found = JSON.stringify(value).match(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g);
  return new Set(found ?? []);
}
