import { reportConnection } from '../../api/connection.ts';
import { parseWon } from '../../format/money.ts';
import { type Bill, estimateTokens, type Failure, type Message, type Run } from './conversation.ts';

/** The playground's name in the list of apps, as any client sends one. */
const appTitle = 'Naru Playground';

/** One event of a streamed completion: the members that the playground reads. */
export interface Chunk {
  readonly id?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly reasoning?: string | null;
      readonly tool_calls?: readonly {
        readonly index?: number;
        readonly id?: string;
        readonly function?: { readonly name?: string; readonly arguments?: string };
      }[];
    };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: {
    readonly prompt_tokens?: number;
    readonly completion_tokens?: number;
    readonly cost?: number;
    readonly completion_tokens_details?: { readonly reasoning_tokens?: number };
  } | null;
  readonly error?: ErrorMember;
}

interface ErrorMember {
  readonly code?: number;
  readonly message?: string;
  readonly metadata?: { readonly error_type?: string };
}

/** The API refused the request, or could not be reached. */
export class CallFailed extends Error {
  override readonly name = 'CallFailed';
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(`${failure.status} ${failure.type}`);
    this.failure = failure;
  }
}

/**
 * Calls `/api/v1/chat/completions` as any client does, and returns the events of the response, those
 * together that arrived since the last were taken. Throws `CallFailed`, or the reason of the abort.
 */
export async function* streamCompletion(
  body: object,
  plaintext: string,
  signal: AbortSignal,
): AsyncGenerator<readonly Chunk[]> {
  const response = await connect(body, plaintext, signal);
  if (!response.ok || response.body === null)
    throw new CallFailed(failureOf(await errorMember(response), response));
  for await (const events of eventData(response.body)) {
    const end = events.indexOf('[DONE]');
    const chunks = (end < 0 ? events : events.slice(0, end)).map((data) => JSON.parse(data) as Chunk);
    if (chunks.length > 0) yield chunks;
    const error = chunks.find((chunk) => chunk.error !== undefined)?.error;
    if (error !== undefined) throw new CallFailed(failureOf(error, response));
    if (end >= 0) return;
  }
  throw new CallFailed(lost);
}

const lost: Failure = { status: 0, type: 'unreachable', words: '', requestId: null };

async function connect(body: object, plaintext: string, signal: AbortSignal): Promise<Response> {
  try {
    const response = await fetch('/api/v1/chat/completions', {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${plaintext}`,
        'Content-Type': 'application/json',
        'X-Title': appTitle,
      },
      body: JSON.stringify(body),
      credentials: 'omit',
      signal,
    });
    reportConnection({ isAway: false });
    return response;
  } catch (error) {
    if (signal.aborted) throw error;
    throw new CallFailed(lost);
  }
}

async function errorMember(response: Response): Promise<ErrorMember> {
  const body: unknown = await response.json().catch(() => null);
  if (typeof body !== 'object' || body === null || !('error' in body)) return {};
  return (body.error ?? {}) as ErrorMember;
}

function failureOf({ code, message, metadata }: ErrorMember, { status, headers }: Response): Failure {
  const known = code ?? status;
  const type = metadata?.error_type ?? `http_${known}`;
  return { status: known, type, words: message ?? '', requestId: headers.get('X-Service-Request-Id') };
}

/** The data of server-sent events, by what was read at once. Comments and other fields are skipped. */
export async function* eventData(stream: ReadableStream<Uint8Array>): AsyncGenerator<readonly string[]> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        // The reason of the abort stays; any other break is the network's.
        throw error instanceof TypeError ? new CallFailed(lost) : error;
      });
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const events = rest.split(/\r?\n\r?\n/);
      rest = done ? '' : (events.pop() ?? '');
      yield events.flatMap((event) => {
        const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
        return lines.length === 0 ? [] : [lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n')];
      });
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** The answer with one more event. */
export function withChunk(message: Message, chunk: Chunk): Message {
  const { run } = message;
  if (run === null) return message;
  const [choice] = chunk.choices ?? [];
  const delta = choice?.delta ?? {};
  const calls = delta.tool_calls ?? [];
  const bill = billOf(chunk);
  const changed: Run = {
    ...run,
    state: 'streaming',
    model: chunk.model ?? run.model,
    provider: chunk.provider ?? run.provider,
    generationId: chunk.id ?? run.generationId,
    firstMs: run.firstMs ?? Date.now(),
    finishReason: choice?.finish_reason ?? run.finishReason,
    bill: bill ?? run.bill,
    answerEstimate:
      run.answerEstimate +
      estimateTokens(
        [delta.content, delta.reasoning, ...calls.map((call) => call.function?.arguments)].join(''),
      ),
  };
  return {
    ...message,
    text: message.text + (delta.content ?? ''),
    reasoning: message.reasoning + (delta.reasoning ?? ''),
    toolCalls: calls.reduce(withCall, message.toolCalls),
    run: changed,
  };
}

type CallDelta = NonNullable<
  NonNullable<NonNullable<Chunk['choices']>[number]['delta']>['tool_calls']
>[number];

function withCall(calls: Message['toolCalls'], part: CallDelta): Message['toolCalls'] {
  const index = part.index ?? calls.length;
  const before = calls[index] ?? { id: '', name: '', args: '' };
  const call = {
    id: part.id ?? before.id,
    name: part.function?.name === undefined || before.name !== '' ? before.name : part.function.name,
    args: before.args + (part.function?.arguments ?? ''),
  };
  return index >= calls.length ? [...calls, call] : calls.map((one, at) => (at === index ? call : one));
}

/** The bill of the last event. The cost is a JSON number of won with at most six decimals, so its text is exact. */
function billOf({ usage }: Chunk): Bill | null {
  if (usage === undefined || usage === null || usage.cost === undefined) return null;
  const micro = parseWon(String(usage.cost));
  if (micro === null) return null;
  return {
    promptTokens: usage.prompt_tokens ?? 0,
    completionTokens: usage.completion_tokens ?? 0,
    reasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
    costMicro: String(micro),
  };
}
