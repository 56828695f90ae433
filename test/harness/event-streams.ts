import {
  delta,
  done,
  event,
  framed,
  lastChunk,
  role,
  stop,
  streamHead,
  used,
} from '../chaos/faults/payloads.ts';
import type { Wire, WireBlock } from './wire.ts';
import { anthropicWire } from './wire-anthropic.ts';
import { bedrockWire, frame } from './wire-bedrock.ts';
import { googleWire } from './wire-google.ts';
import { streamPaths } from './wire-listen.ts';

/**
 * A streamed response as the sequence of events that it is, each as the bytes of one HTTP chunk.
 */
export interface EventStream {
  readonly dialect: 'openai' | Wire['dialect'];
  readonly name: string;
  readonly head: Buffer;
  readonly events: readonly Buffer[];
  /**
   * How the connection ends after the last event; `keep` leaves it open, since the response is
   * complete.
   */
  readonly end: 'keep' | 'fin' | 'rst';
  /** Members of the request. */
  readonly request?: object;
}

const a = delta({ content: '나루 ' });
const b = delta({ content: 'is here 👋' });
const error = event({ error: { message: 'overloaded', code: 529 } });
const choice = (index: number, output: object, finish: string | null = null): string =>
  event({ choices: [{ index, delta: output, finish_reason: finish }] });

/**
 * Every way in which a response of four or five events can go wrong, in the order that matters:
 * before, at and after its end.
 */
const openai: Readonly<Record<string, readonly string[]>> = {
  'an ordinary response': [role, a, b, stop, used(), done],
  'an error after the usage': [a, b, stop, used(), error],
  'an error after the finish': [a, b, stop, error, done],
  'an error between the finish and the usage': [a, b, stop, error, used(), done],
  'an error in the middle': [a, b, error, done],
  'an error after the first words': [a, error],
  'an error after the role': [role, error],
  'an error, then a response': [error, a, stop, used(), done],
  'an error beside the last words': [a, delta({ content: 'no' }, 'stop', { error: { code: 500 } }), done],
  'no JSON in the middle': [a, event('{"choices":['), b, stop, used(), done],
  'no JSON after the finish': [a, stop, event('<html>'), used(), done],
  'an event without any content': [a, event({}), stop, used(), done],
  'words after the finish': [a, stop, b, used(), done],
  'words after the usage': [a, stop, used(), b, done],
  'words after [DONE]': [a, stop, used(), done, b],
  'no finish': [a, b, done],
  'no finish and no [DONE]': [a, b],
  'no [DONE]': [a, b, stop, used()],
  'a finish and nothing else': [stop, done],
  'usage with every chunk': [
    delta({ content: '나루 ' }, null, { usage: { prompt_tokens: 10, completion_tokens: 1 } }),
    delta({ content: '나루 ' }, 'stop', { usage: { prompt_tokens: 10, completion_tokens: 2 } }),
    used(),
    error,
  ],
  'usage twice': [a, stop, used(), used({ prompt_tokens: 10, completion_tokens: 4 }), done],
  '[DONE] with spaces': [a, b, stop, used(), 'data:   [DONE] \t\n\n'],
  '[DONE] twice': [a, stop, done, done],
  'comments between': [': one\n\n', a, ':\n\n', stop, used(), done],
  'a last event without its blank line': [a, stop, used().trimEnd()],
};

const twoChoices: Readonly<Record<string, readonly string[]>> = {
  'two choices, an error before the second': [choice(0, { content: 'x' }), choice(0, {}, 'stop'), error],
  'two choices, an error before the end of the second': [
    choice(0, { content: 'x' }, 'stop'),
    choice(1, { content: 'y' }),
    error,
  ],
  'two choices, an error after both': [
    choice(0, { content: 'x' }, 'stop'),
    choice(1, { content: 'y' }, 'stop'),
    error,
  ],
  'one choice of two': [choice(0, { content: 'x' }), choice(0, {}, 'stop'), used(), done],
};

const openaiStreams: readonly EventStream[] = [
  ...Object.entries({ ...openai, ...twoChoices }).flatMap(([name, events]): readonly EventStream[] => {
    const stream = {
      dialect: 'openai' as const,
      head: Buffer.from(streamHead),
      request: name in twoChoices ? { n: 2 } : {},
    };
    const bytes = events.map((each) => framed(each));
    return [
      { ...stream, name, events: [...bytes, Buffer.from(lastChunk)], end: 'keep' },
      ...(['fin', 'rst'] as const).map((end) => ({ ...stream, name: `${name}, ${end}`, events: bytes, end })),
    ];
  }),
];

const blocks: readonly WireBlock[] = [{ text: ['나루 ', 'is here 👋'] }];

/** What an upstream of this wire sends for a stream, event by event. */
function eventsOf(
  wire: Wire,
  reply: ReturnType<Wire['responds']>,
): { head: Buffer; events: readonly Buffer[] } {
  const request = {
    n: 1,
    method: 'POST',
    path: streamPaths[wire.dialect],
    headers: [],
    body: { stream: true, model: wire.model },
    raw: Buffer.alloc(0),
  };
  const [head = Buffer.alloc(0), ...events] = reply
    .render(request)
    .acts.flatMap((act) => (act.act === 'send' ? [act.bytes] : []));
  return { head, events: events.filter((bytes) => !bytes.includes('"ping"')) };
}

/** An error in each wire format, to be inserted between its events. */
const inBand: Readonly<Record<Wire['dialect'], Buffer>> = {
  anthropic: framed(
    `event: error\n${event({ type: 'error', error: { type: 'overloaded_error', message: 'no' } })}`,
  ),
  google: framed(event({ error: { code: 503, message: 'no', status: 'UNAVAILABLE' } })),
  bedrock: framed(frame('exception', 'throttlingException', { message: 'no' })),
};

const otherStreams: readonly EventStream[] = [anthropicWire, googleWire, bedrockWire].flatMap((wire) => {
  const { dialect } = wire;
  const { head, events } = eventsOf(wire, wire.responds({ blocks }));
  const last = events.length - 1;
  const at = (index: number, what: Buffer): readonly Buffer[] => events.toSpliced(index, 0, what);
  const garbage = dialect === 'bedrock' ? framed('not a frame at all') : framed(event('{"bad'));
  const rows: Readonly<Record<string, Pick<EventStream, 'events' | 'end'>>> = {
    'an ordinary response': { events, end: 'keep' },
    'an error before the end of the stream': { events: at(last, inBand[dialect]), end: 'keep' },
    'an error before the last event': { events: at(last - 1, inBand[dialect]), end: 'keep' },
    'an error in the middle': { events: at(Math.ceil(last / 2), inBand[dialect]), end: 'keep' },
    'an error first': { events: at(0, inBand[dialect]), end: 'keep' },
    'nonsense in the middle': { events: at(Math.ceil(last / 2), garbage), end: 'keep' },
    'cut before the end': { events: events.slice(0, last), end: 'rst' },
    'cut before the last event': { events: events.slice(0, last - 1), end: 'fin' },
    'cut in the middle': { events: events.slice(0, Math.ceil(last / 2)), end: 'rst' },
  };
  return Object.entries(rows).map(([name, row]) => ({ dialect, name, head, ...row }));
});

/** Streams of every dialect that end well or badly. */
export const eventStreams: readonly EventStream[] = [...openaiStreams, ...otherStreams];

/**
 * Every way to split `n` items into consecutive groups, as the set of positions where a new group
 * begins: 2^(n-1) of them.
 */
export function* groupings(n: number): Generator<readonly number[]> {
  for (let bits = 0; bits < 2 ** (n - 1); bits += 1)
    yield Array.from({ length: n - 1 }, (_, at) => at + 1).filter((at) => (bits & (1 << (at - 1))) !== 0);
}
