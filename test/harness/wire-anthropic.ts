import { respond, type UpstreamRequest } from './upstream-openai.ts';
import { Reply, reply } from './upstream-reply.ts';
import { plainUsage, type Wire, type WireBlock, type WireResponse } from './wire.ts';

const stops = { end: 'end_turn', length: 'max_tokens', tools: 'tool_use', filter: 'refusal' } as const;

/** Anthropic's Messages API, as documented: JSON, and events of a stream with pings in between. */
export const anthropicWire: Wire = {
  dialect: 'anthropic',
  model: 'claude-sonnet-4-5',
  secrets: ['anthropic-secret-0123456789'],
  provider: (origin) => ({
    dialect: 'anthropic',
    base_url: `${origin}/v1`,
    api_key: 'anthropic-secret-0123456789',
  }),
  responds: (response) =>
    new Reply((request) =>
      request.body['stream'] === true
        ? stream([
            ...opening(request, response),
            ...response.blocks.flatMap(blockEvents),
            ...closing(response),
          ])
        : whole(request, response),
    ),
  refuses: (status, message, headers = {}) =>
    reply.status(
      status,
      { type: 'error', error: { type: typeOf(status), message }, request_id: 'req_1' },
      headers,
    ),
  breaks: (blocks) =>
    new Reply((sent) =>
      stream([
        ...opening(sent, { blocks }),
        ...blocks.flatMap(blockEvents),
        { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      ]),
    ),
  breaksWith: 529,
};

function whole(request: UpstreamRequest, response: WireResponse) {
  const body = {
    id: 'msg_01',
    type: 'message',
    role: 'assistant',
    model: request.body['model'],
    content: response.blocks.map(wholeBlock),
    stop_reason: stops[response.stop ?? 'end'],
    stop_sequence: null,
    usage: { ...inputUsage(response), ...outputUsage(response) },
  };
  return respond({}, 'application/json', [{ act: 'send', bytes: Buffer.from(JSON.stringify(body)) }]);
}

function wholeBlock(block: WireBlock): object {
  if ('text' in block) return { type: 'text', text: block.text.join('') };
  if ('thought' in block)
    return { type: 'thinking', thinking: block.thought.join(''), signature: block.signature ?? '' };
  if ('sealed' in block) return { type: 'redacted_thinking', data: block.sealed };
  const { id, name, args } = block.call;
  return { type: 'tool_use', id, name, input: JSON.parse(args.join('') || '{}') };
}

type Event = { readonly type: string } & Readonly<Record<string, unknown>>;

function stream(events: readonly Event[]) {
  const acts = events.map((event) => ({
    act: 'send' as const,
    bytes: Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
  }));
  return respond({ framing: 'chunked' }, 'text/event-stream; charset=utf-8', acts);
}

function opening(request: UpstreamRequest, response: WireResponse): readonly Event[] {
  const message = {
    id: 'msg_01',
    type: 'message',
    role: 'assistant',
    model: request.body['model'],
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...inputUsage(response), output_tokens: 1 },
  };
  return [{ type: 'message_start', message }, { type: 'ping' }];
}

function blockEvents(block: WireBlock, index: number): readonly Event[] {
  const delta = (output: object): Event => ({ type: 'content_block_delta', index, delta: output });
  const proc = (start: object, deltas: readonly Event[]): readonly Event[] => [
    { type: 'content_block_start', index, content_block: start },
    ...deltas,
    { type: 'content_block_stop', index },
  ];
  if ('text' in block) {
    return proc(
      { type: 'text', text: '' },
      block.text.map((text) => delta({ type: 'text_delta', text })),
    );
  }
  if ('thought' in block) {
    const signature =
      block.signature === undefined ? [] : [delta({ type: 'signature_delta', signature: block.signature })];
    const deltas = block.thought.map((thinking) => delta({ type: 'thinking_delta', thinking }));
    return proc({ type: 'thinking', thinking: '', signature: '' }, [...deltas, ...signature]);
  }
  if ('sealed' in block) return proc({ type: 'redacted_thinking', data: block.sealed }, []);
  const { id, name, args } = block.call;
  return proc(
    { type: 'tool_use', id, name, input: {} },
    ['', ...args].map((json) => delta({ type: 'input_json_delta', partial_json: json })),
  );
}

function closing(response: WireResponse): readonly Event[] {
  return [
    {
      type: 'message_delta',
      delta: { stop_reason: stops[response.stop ?? 'end'], stop_sequence: null },
      usage: outputUsage(response),
    },
    { type: 'message_stop' },
  ];
}

function inputUsage({ usage = plainUsage }: WireResponse): object {
  const { prompt, cacheRead = 0, cacheWrite = 0, cacheWrite1h, tier } = usage;
  return {
    input_tokens: prompt - cacheRead - cacheWrite,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    ...(cacheWrite1h !== undefined && {
      cache_creation: {
        ephemeral_5m_input_tokens: cacheWrite - cacheWrite1h,
        ephemeral_1h_input_tokens: cacheWrite1h,
      },
    }),
    ...(tier !== undefined && { service_tier: tier }),
  };
}

function outputUsage({ usage = plainUsage }: WireResponse): object {
  const thinking = usage.reasoning;
  return {
    output_tokens: usage.completion,
    ...(thinking === undefined ? {} : { output_tokens_details: { thinking_tokens: thinking } }),
  };
}

function typeOf(status: number): string {
  const types: Readonly<Record<number, string>> = {
    400: 'invalid_request_error',
    401: 'authentication_error',
    403: 'permission_error',
    404: 'not_found_error',
    429: 'rate_limit_error',
    529: 'overloaded_error',
  };
  return types[status] ?? 'api_error';
}
