/** Text and JSON that are hard to parse. */
import { both, broken, type FaultClass, failed, responds, silent, streamed, words } from './fault.ts';
import {
  begins,
  contentChunk,
  deep,
  delta,
  done,
  either,
  event,
  forever,
  framed,
  replies,
  payload as response,
  role,
  stop,
  streams,
  used,
} from './payloads.ts';
import type { Act } from './wire.ts';

const wholeText = (raw: string | Buffer): Act => {
  const [before = '', after = ''] = JSON.stringify(response('@')).split('@');
  return replies(Buffer.concat([Buffer.from(before), Buffer.from(raw), Buffer.from(after)]));
};
const streamText = (raw: string | Buffer): Act => {
  const [before = '', after = ''] = delta({ content: '@' }).split('@');
  return streams(
    role,
    Buffer.concat([Buffer.from(before), Buffer.from(raw), Buffer.from(after)]),
    stop + used() + done,
  );
};
const textually = (raw: string | Buffer): Act => either(wholeText(raw), streamText(raw));
const withLogprobs = (value: string): Act =>
  either(
    replies(
      JSON.stringify(response()).replace(
        '"finish_reason"',
        `"logprobs":{"content":${value}},"finish_reason"`,
      ),
    ),
    streams(
      role,
      contentChunk().replaceAll('"finish_reason"', `"logprobs":{"content":${value}},"finish_reason"`),
      stop + used() + done,
    ),
  );

export const texts: FaultClass = {
  name: 'text and JSON that are hard to take',
  faults: [
    {
      name: 'invalid UTF-8',
      act: textually(Buffer.from([0x61, 0xff, 0xc3, 0x28, 0x62])),
      ...both(responds('a\ufffd\ufffd(b')),
    },
    {
      name: 'half a character at the end',
      act: textually(Buffer.from([0x61, 0xed, 0x95])),
      ...both(responds('a\ufffd')),
    },
    { name: 'a lone surrogate', act: textually('a\\ud83d'), ...both(responds('a\ud83d')) },
    {
      name: 'a surrogate pair over two deltas',
      act: streams(
        role,
        event('{"choices":[{"index":0,"delta":{"content":"\\ud83d"}}]}'),
        event('{"choices":[{"index":0,"delta":{"content":"\\udef6"}}]}'),
        stop + used() + done,
      ),
      ...both(responds('🛶')),
    },
    {
      name: 'NUL and control characters',
      act: textually('a\\u0000\\u001b[31m\\u2028b'),
      ...both(responds('a\0\u001b[31m\u2028b')),
    },
    { name: 'raw control characters', act: textually('a\tb'), ...both(failed(200)) },
    {
      name: 'data: and blank lines in the words',
      act: textually('a\\n\\ndata: [DONE]\\n\\nb'),
      ...both(responds('a\n\ndata: [DONE]\n\nb')),
    },
    {
      name: 'members twice',
      act: either(
        replies(JSON.stringify(response()).replace('"choices":', '"choices":null,"choices":')),
        streams(
          role,
          contentChunk().replaceAll('"choices":', '"choices":null,"choices":'),
          stop + used() + done,
        ),
      ),
      ...both(responds()),
    },
    {
      name: '__proto__',
      act: either(
        replies(JSON.stringify(response()).replace('{', '{"__proto__":{"error":"x"},')),
        streams(
          role,
          contentChunk().replaceAll('{"id"', '{"__proto__":{"error":"x"},"id"'),
          stop + used() + done,
        ),
      ),
      ...both(responds()),
    },
    {
      name: 'nested 100,000 deep',
      act: either(replies(deep(100_000)), streams(role, contentChunk(), event(deep(100_000)), done)),
      stream: broken(),
      whole: failed(200),
    },
    { name: 'log probabilities nested 50,000 deep', act: withLogprobs(deep(50_000)), ...both(failed(200)) },
    {
      name: 'log probabilities nested 50,000 deep, later',
      act: streams(
        role,
        contentChunk(),
        delta({ content: 'x' }).replace(
          '"finish_reason"',
          `"logprobs":{"content":${deep(50_000)}},"finish_reason"`,
        ),
        stop + used() + done,
      ),
      ...streamed(broken()),
    },
    {
      name: 'log probabilities that are none',
      act: either(
        replies(JSON.stringify(response()).replace('"finish_reason"', '"logprobs":"x","finish_reason"')),
        streams(
          role,
          contentChunk().replaceAll('"finish_reason"', '"logprobs":[1e999],"finish_reason"'),
          stop + used() + done,
        ),
      ),
      ...both(responds()),
    },
    {
      name: 'a million objects',
      heavy: true,
      act: either(
        replies(`{"choices":[${'{},'.repeat(4_000_000)}{}]}`),
        streams(role, contentChunk(), event(`{"choices":[${'{},'.repeat(4_000_000)}{}]}`), done),
      ),
      stream: broken(),
      whole: failed(200),
    },
    {
      name: '100,000 choices',
      heavy: true,
      act: either(
        replies(
          JSON.stringify(response(words, { choices: Array(100_000).fill({ message: { content: 'x' } }) })),
        ),
        streams(
          role,
          contentChunk(),
          event({ choices: Array(100_000).fill({ delta: { content: 'x' } }) }),
          done,
        ),
      ),
      stream: broken(),
      whole: failed(200),
    },
    {
      name: 'a gigabyte of comments',
      heavy: true,
      act: begins([], forever(framed(': wait\n\n'.repeat(8_000)))),
      takes: 'total',
      ...both(failed('timeout')),
    },
    {
      name: 'empty chunks as fast as they go',
      heavy: true,
      act: begins([], forever(framed(delta({ content: '' }).repeat(200)))),
      ...both(failed(200)),
    },
    {
      name: 'large empty chunks as fast as they go',
      heavy: true,
      act: begins(
        [],
        forever(framed(event({ choices: [{ delta: {}, logprobs: { content: ['x'.repeat(1e6)] } }] }))),
      ),
      ...both(failed(200)),
    },
    {
      name: 'words for ever',
      act: begins([role], forever(framed(delta({ content: 'x '.repeat(500) })), 5)),
      takes: 'total',
      ...streamed(silent('*')),
    },
    {
      name: 'an image of 8 MB',
      heavy: true,
      act: either(
        replies(
          JSON.stringify(
            response('i', {
              choices: [
                {
                  index: 0,
                  message: { content: 'i', images: [`data:${'A'.repeat(8e6)}`] },
                  finish_reason: 'stop',
                },
              ],
            }),
          ),
        ),
        streams(role, delta({ content: 'i', images: [`data:${'A'.repeat(8e6)}`] }), stop + used() + done),
      ),
      ...both(responds('i')),
    },
  ],
};
