import { respond } from './upstream-openai.ts';
import { Reply, reply } from './upstream-reply.ts';
import { plainUsage, type Wire, type WireBlock, type WireResponse, type WireUsage } from './wire.ts';

const stops = { end: 'STOP', length: 'MAX_TOKENS', tools: 'STOP', filter: 'SAFETY' } as const;

/** Google's Gemini API: JSON, and a stream of the same objects whose usage grows. */
export const googleWire: Wire = {
  dialect: 'google',
  model: 'gemini-2.5-flash',
  secrets: ['google-secret-0123456789'],
  provider: (origin) => ({
    dialect: 'google',
    base_url: `${origin}/v1beta`,
    api_key: 'google-secret-0123456789',
  }),
  responds: (response) =>
    new Reply(({ path }) => {
      if (path.endsWith(':streamGenerateContent?alt=sse')) return stream(chunks(response));
      const parts = response.blocks.flatMap((block) => [joined(block)]);
      return json(chunkOf(parts, stops[response.stop ?? 'end'], response.usage ?? plainUsage));
    }),
  refuses: (status, message, headers = {}) =>
    reply.status(status, { error: { code: status, message, status: statusOf(status) } }, headers),
  breaks: (blocks) =>
    new Reply(() =>
      stream([
        ...chunks({ blocks }).slice(0, -1),
        { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } },
      ]),
    ),
  breaksWith: 503,
};

type Part = Readonly<Record<string, unknown>>;

function json(body: object) {
  return respond({}, 'application/json; charset=UTF-8', [
    { act: 'send', bytes: Buffer.from(JSON.stringify(body, null, 2)) },
  ]);
}

function stream(objects: readonly object[]) {
  const acts = objects.map((object) => ({
    act: 'send' as const,
    bytes: Buffer.from(`data: ${JSON.stringify(object)}\r\n\r\n`),
  }));
  return respond({ framing: 'chunked' }, 'text/event-stream', acts);
}

/** A chunk for each piece; a reason to stop only on the last. */
function chunks(response: WireResponse): readonly object[] {
  const usage = response.usage ?? plainUsage;
  const parts = response.blocks.flatMap(pieces);
  const last = { text: '' };
  return [
    ...parts.map((part, n) =>
      chunkOf([part], null, { ...usage, completion: Math.min(n, usage.completion), reasoning: 0 }),
    ),
    chunkOf([last], stops[response.stop ?? 'end'], usage),
  ];
}

function chunkOf(parts: readonly Part[], finishReason: string | null, usage: WireUsage): object {
  const { prompt, completion, reasoning = 0, cacheRead, tier } = usage;
  return {
    candidates: [
      { content: { parts, role: 'model' }, ...(finishReason === null ? {} : { finishReason }), index: 0 },
    ],
    usageMetadata: {
      promptTokenCount: prompt,
      candidatesTokenCount: completion - reasoning,
      totalTokenCount: prompt + completion,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
      ...(reasoning === 0 ? {} : { thoughtsTokenCount: reasoning }),
      ...(cacheRead === undefined ? {} : { cachedContentTokenCount: cacheRead }),
      ...(tier === undefined ? {} : { serviceTier: tier }),
    },
    modelVersion: 'gemini-2.5-flash',
    responseId: 'resp-01',
  };
}

function pieces(block: WireBlock): readonly Part[] {
  const signed = signatureOf(block);
  if ('text' in block)
    return withSignature(
      block.text.map((text) => ({ text })),
      signed,
    );
  if ('thought' in block)
    return withSignature(
      block.thought.map((text) => ({ text, thought: true })),
      signed,
    );
  if ('sealed' in block) return [];
  return [{ ...callOf(block.call), ...signed }];
}

function joined(block: WireBlock): Part {
  const signed = signatureOf(block);
  if ('text' in block) return { text: block.text.join(''), ...signed };
  if ('thought' in block) return { text: block.thought.join(''), thought: true, ...signed };
  if ('sealed' in block) return { text: '' };
  return { ...callOf(block.call), ...signed };
}

function callOf({
  id,
  name,
  args,
}: {
  readonly id: string;
  readonly name: string;
  readonly args: readonly string[];
}): Part {
  return { functionCall: { id, name, args: JSON.parse(args.join('') || '{}') } };
}

function signatureOf(block: WireBlock): Part {
  return 'signature' in block && block.signature !== undefined ? { thoughtSignature: block.signature } : {};
}

/** The last piece of a block has its signature. */
function withSignature(parts: readonly Part[], signed: Part): readonly Part[] {
  return parts.map((part, n) => (n === parts.length - 1 ? { ...part, ...signed } : part));
}

function statusOf(status: number): string {
  const names: Readonly<Record<number, string>> = {
    400: 'INVALID_ARGUMENT',
    401: 'UNAUTHENTICATED',
    403: 'PERMISSION_DENIED',
    404: 'NOT_FOUND',
    429: 'RESOURCE_EXHAUSTED',
    503: 'UNAVAILABLE',
  };
  return names[status] ?? 'INTERNAL';
}
