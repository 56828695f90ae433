import { crc32 } from 'node:zlib';
import { respond } from './upstream-openai.ts';
import { Reply, reply } from './upstream-reply.ts';
import { plainUsage, type Wire, type WireBlock, type WireResponse } from './wire.ts';

const stops = {
  end: 'end_turn',
  length: 'max_tokens',
  tools: 'tool_use',
  filter: 'guardrail_intervened',
} as const;

/**
 * Amazon Bedrock's Converse API: JSON, and a stream of binary frames
 * (`application/vnd.amazon.eventstream`).
 */
export const bedrockWire: Wire = {
  dialect: 'bedrock',
  model: 'us.anthropic.claude-sonnet-4-20250514-v1:0',
  secrets: ['AKIDBEDROCK0123456789', 'bedrock-secret-0123456789', 'bedrock-session-0123456789'],
  provider: (origin) => ({
    dialect: 'bedrock',
    base_url: origin,
    region: 'ap-northeast-2',
    access_key_id: 'AKIDBEDROCK0123456789',
    secret_access_key: 'bedrock-secret-0123456789',
    session_token: 'bedrock-session-0123456789',
  }),
  responds: (response) =>
    new Reply(({ path }) =>
      path.endsWith('/converse-stream')
        ? stream([...blocksOf(response.blocks), ...closing(response)])
        : whole(response),
    ),
  refuses: (status, message, headers = {}) =>
    reply.status(status, { message }, { 'x-amzn-errortype': typeOf(status), ...headers }),
  breaks: (blocks) =>
    new Reply(() =>
      stream([
        ...blocksOf(blocks),
        frame('exception', 'throttlingException', { message: 'Too many tokens' }),
      ]),
    ),
  breaksWith: 429,
};

/**
 * One frame: two lengths and their checksum, typed headers, the payload, and the checksum of it
 * all.
 */
export function frame(kind: 'event' | 'exception', type: string, payload: object): Buffer {
  const headers = Buffer.concat(
    [
      [`:${kind}-type`, type],
      [':content-type', 'application/json'],
      [':message-type', kind],
    ].map(([name = '', value = '']) =>
      Buffer.concat([
        Buffer.from([name.length]),
        Buffer.from(name),
        Buffer.from([7, value.length >> 8, value.length & 0xff]),
        Buffer.from(value),
      ]),
    ),
  );
  const body = Buffer.from(JSON.stringify({ ...payload, p: 'abcdefghijkl' }));
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(16 + headers.length + body.length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  const all = Buffer.concat([prelude, checksum(prelude), headers, body]);
  return Buffer.concat([all, checksum(all)]);
}

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes), 0);
  return sum;
}

function stream(frames: readonly Buffer[]) {
  return respond(
    { framing: 'chunked', headers: { 'x-amzn-requestid': 'req-01' } },
    'application/vnd.amazon.eventstream',
    frames.map((bytes) => ({ act: 'send' as const, bytes })),
  );
}

function whole(response: WireResponse) {
  const body = {
    metrics: { latencyMs: 12 },
    output: { message: { role: 'assistant', content: response.blocks.map(wholeBlock) } },
    stopReason: stops[response.stop ?? 'end'],
    usage: usageOf(response),
    ...tierOf(response),
  };
  return respond({ headers: { 'x-amzn-requestid': 'req-01' } }, 'application/json', [
    { act: 'send', bytes: Buffer.from(JSON.stringify(body)) },
  ]);
}

function wholeBlock(block: WireBlock): object {
  if ('text' in block) return { text: block.text.join('') };
  if ('thought' in block) {
    const { thought, signature } = block;
    return {
      reasoningContent: {
        reasoningText: { text: thought.join(''), ...(signature === undefined ? {} : { signature }) },
      },
    };
  }
  if ('sealed' in block) return { reasoningContent: { redactedContent: block.sealed } };
  const { id, name, args } = block.call;
  return { toolUse: { toolUseId: id, name, input: JSON.parse(args.join('') || '{}') } };
}

function blocksOf(blocks: readonly WireBlock[]): readonly Buffer[] {
  return [frame('event', 'messageStart', { role: 'assistant' }), ...blocks.flatMap(blockFrames)];
}

function blockFrames(block: WireBlock, contentBlockIndex: number): readonly Buffer[] {
  const delta = (output: object): Buffer =>
    frame('event', 'contentBlockDelta', { contentBlockIndex, delta: output });
  const stop = frame('event', 'contentBlockStop', { contentBlockIndex });
  if ('text' in block) return [...block.text.map((text) => delta({ text })), stop];
  if ('thought' in block) {
    const signature =
      block.signature === undefined ? [] : [delta({ reasoningContent: { signature: block.signature } })];
    return [...block.thought.map((text) => delta({ reasoningContent: { text } })), ...signature, stop];
  }
  if ('sealed' in block) return [delta({ reasoningContent: { redactedContent: block.sealed } }), stop];
  const { id, name, args } = block.call;
  const start = { contentBlockIndex, start: { toolUse: { toolUseId: id, name } } };
  return [
    frame('event', 'contentBlockStart', start),
    ...args.map((input) => delta({ toolUse: { input } })),
    stop,
  ];
}

function closing(response: WireResponse): readonly Buffer[] {
  return [
    frame('event', 'messageStop', { stopReason: stops[response.stop ?? 'end'] }),
    frame('event', 'metadata', { usage: usageOf(response), metrics: { latencyMs: 12 }, ...tierOf(response) }),
  ];
}

function usageOf({ usage = plainUsage }: WireResponse): object {
  const { prompt, completion, cacheRead = 0, cacheWrite = 0, cacheWrite1h } = usage;
  return {
    inputTokens: prompt - cacheRead - cacheWrite,
    outputTokens: completion,
    totalTokens: prompt + completion,
    cacheReadInputTokens: cacheRead,
    cacheWriteInputTokens: cacheWrite,
    ...(cacheWrite1h !== undefined && {
      cacheDetails: [
        { ttl: '5m', inputTokens: cacheWrite - cacheWrite1h },
        { ttl: '1h', inputTokens: cacheWrite1h },
      ],
    }),
  };
}

function tierOf({ usage }: WireResponse): object {
  return usage?.tier === undefined ? {} : { serviceTier: { type: usage.tier } };
}

function typeOf(status: number): string {
  const types: Readonly<Record<number, string>> = {
    400: 'ValidationException',
    403: 'AccessDeniedException',
    404: 'ResourceNotFoundException',
    429: 'ThrottlingException',
    503: 'ServiceUnavailableException',
  };
  return types[status] ?? 'InternalServerException';
}
