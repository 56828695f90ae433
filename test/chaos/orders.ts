import type { Payer } from '../harness/payer.ts';
import { reply, usage } from '../harness/upstream.ts';
import type { Reply } from '../harness/upstream-reply.ts';
import type { OrderedRequest } from './client.ts';

/** Numbers that follow from a seed: the same choices again. From 0 up to 1. */
export type Random = () => number;

/** mulberry32. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Whole numbers from `least` to `most`. */
export function between(random: Random, min: number, max: number): number {
  return min + Math.floor(random() * (max - min + 1));
}

/** The upstream's instructions, inside the prompt. */
interface Script {
  readonly act: 'respond' | 'slow' | 'fail' | 'cut' | 'hang';
  readonly wordCount: number;
  readonly waitMs: number;
  readonly prompt: number;
}

const known = 'test/echo';
const invalidMessages = 7;

/** The share of each kind of request, in percent. */
const mix: readonly (readonly [Script['act'] | 'invalid' | 'unknown', number])[] = [
  ['respond', 50],
  ['slow', 22],
  ['fail', 7],
  ['cut', 8],
  ['hang', 5],
  ['invalid', 4],
  ['unknown', 4],
];

/**
 * A random request of a random key: JSON or streamed, chat or text, well-behaved or not, of a
 * client that may disconnect unless it is `patient`.
 */
export function drawOrder(
  random: Random,
  payers: readonly Payer[],
  tag: string,
  mayWait: boolean,
): OrderedRequest {
  const payer = pick(random, payers);
  const drawn = drawAct(random);
  const act = mayWait && drawn === 'hang' ? 'respond' : drawn;
  const stream = act === 'cut' || random() < 0.6;
  const chat = random() < 0.75;
  const script: Script = {
    act: act === 'invalid' || act === 'unknown' ? 'respond' : act,
    wordCount: between(random, 1, 30),
    waitMs: between(random, 1, act === 'slow' ? 40 : 5),
    prompt: between(random, 1, 60),
  };
  const text = JSON.stringify(script);
  const request = chat ? { messages: [{ role: 'user', content: text }] } : { prompt: text };
  const leaves = !mayWait && (act === 'hang' || random() < 0.12);
  return {
    tag,
    accountId: payer.accountId,
    key: pick(random, payer.keys).key,
    path: chat ? '/chat/completions' : '/completions',
    body: {
      model: act === 'unknown' ? 'test/nothing' : known,
      stream,
      ...(act === 'invalid' ? { messages: invalidMessages, prompt: { no: 1 } } : request),
    },
    leaveAfterMs: leaves ? between(random, 0, 120) : null,
  };
}

/** Whether nothing in the order itself makes it fail. */
export function mustSucceed({ body }: OrderedRequest): boolean {
  if (body['model'] !== known || body['messages'] === invalidMessages) return false;
  return ['respond', 'slow'].includes(scriptOf(body).act);
}

/** The upstream's side: follows the prompt. */
export function scriptedReply(body: Readonly<Record<string, unknown>>): Reply {
  const { act, wordCount, waitMs, prompt } = scriptOf(body);
  const counted = { usage: usage(prompt, wordCount) };
  const pieces = Array.from({ length: wordCount }, (_, at) => `word${at} `);
  switch (act) {
    case 'respond':
      return reply.chat(pieces, counted);
    case 'slow':
      if (body['stream'] !== true) return reply.chat(pieces, counted).waitAt(0, waitMs * 4);
      return reply.stream(
        pieces.flatMap((piece) => [piece, { waitMs }]),
        counted,
      );
    case 'fail':
      return reply.status(500);
    case 'cut':
      return reply.stream(pieces, { ...counted, finish: null, done: false }).cutAt(-7, 'rst');
    case 'hang':
      return reply.hang();
  }
}

function scriptOf(body: Readonly<Record<string, unknown>>): Script {
  const messages = body['messages'] as readonly { readonly content: string }[] | undefined;
  return JSON.parse(messages?.[0]?.content ?? String(body['prompt'])) as Script;
}

function drawAct(random: Random): Script['act'] | 'invalid' | 'unknown' {
  let rest = random() * 100;
  for (const [act, share] of mix) {
    rest -= share;
    if (rest < 0) return act;
  }
  return 'respond';
}

function pick<T>(random: Random, from: readonly T[]): T {
  const one = from[Math.floor(random() * from.length)];
  if (one === undefined) throw new Error('nothing to pick from');
  return one;
}
