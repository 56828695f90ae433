/** Usage that no bill can rest on, and usage in odd places. */
import { both, type Count, type Fault, type FaultClass, responds, words } from './fault.ts';
import {
  contentChunk,
  counted,
  delta,
  done,
  either,
  event,
  jsonResponse,
  payload,
  replies,
  role,
  sends,
  stop,
  streams,
  used,
} from './payloads.ts';

/** Reported usage in a JSON response and in the chunk of a stream. */
function claims(name: string, usage: unknown, prompt: Count, completion: Count): Fault {
  const act = either(
    sends(jsonResponse(words, { usage })),
    streams(role, contentChunk(), stop, used(usage), done),
  );
  return { name, act, ...both(responds(words, prompt, completion)) };
}

export const usages: FaultClass = {
  name: 'usage',
  faults: [
    {
      name: 'missing',
      act: either(
        sends(jsonResponse(words, { usage: undefined })),
        streams(role, contentChunk(), stop, done),
      ),
      ...both(responds(words, 'counted', 'counted')),
    },
    claims('null', null, 'counted', 'counted'),
    claims('empty', {}, 'counted', 'counted'),
    claims('a list', [10, 5], 'counted', 'counted'),
    claims('text', 'about 15', 'counted', 'counted'),
    claims('zero', { prompt_tokens: 0, completion_tokens: 0 }, 'counted', 'counted'),
    claims('negative', { prompt_tokens: -10, completion_tokens: -5 }, 'counted', 'counted'),
    claims('strings', { prompt_tokens: '10', completion_tokens: '5' }, 'counted', 'counted'),
    claims('fractions', { prompt_tokens: 10.5, completion_tokens: 4.5 }, 'counted', 'counted'),
    claims('huge', { prompt_tokens: 1e12, completion_tokens: 1e12 }, 'counted', 'counted'),
    claims('beyond integers', { prompt_tokens: 1e300, completion_tokens: 1e300 }, 'counted', 'counted'),
    claims('one half missing', { prompt_tokens: 10 }, 'counted', 'counted'),
    claims('the other half missing', { completion_tokens: 5 }, 'counted', 'counted'),
    claims('a total that contradicts', { ...counted, total_tokens: 3 }, 10, 5),
    claims(
      'negative details',
      {
        ...counted,
        prompt_tokens_details: { cached_tokens: -4 },
        completion_tokens_details: { reasoning_tokens: -1 },
      },
      10,
      5,
    ),
    claims(
      'details above the whole',
      {
        ...counted,
        prompt_tokens_details: { cached_tokens: 1e9 },
        completion_tokens_details: { reasoning_tokens: 1e9 },
      },
      'counted',
      'counted',
    ),
    claims(
      'details that are none',
      { ...counted, prompt_tokens_details: 'x', completion_tokens_details: [1] },
      10,
      5,
    ),
    claims('a cost in dollars', { ...counted, cost: 99, cost_details: {} }, 10, 5),
    {
      name: '1e999',
      act: either(
        replies(
          JSON.stringify(payload(words, { usage: 7 })).replace(
            ':7}',
            ':{"prompt_tokens":1e999,"completion_tokens":-1e999}}',
          ),
        ),
        streams(
          role,
          contentChunk(),
          stop,
          event('{"choices":[],"usage":{"prompt_tokens":1e999,"completion_tokens":-1e999}}'),
          done,
        ),
      ),
      ...both(responds(words, 'counted', 'counted')),
    },
    {
      name: 'twice in the JSON',
      act: either(
        replies(
          JSON.stringify(payload()).replace(
            '"usage":',
            '"usage":{"prompt_tokens":70,"completion_tokens":60},"usage":',
          ),
        ),
        streams(
          role,
          contentChunk(),
          stop,
          event(
            '{"choices":[],"usage":{"prompt_tokens":70},"usage":{"prompt_tokens":10,"completion_tokens":5}}',
          ),
          done,
        ),
      ),
      ...both(responds()),
    },
    {
      name: 'twice in the stream',
      act: streams(role, contentChunk(), stop, used(), used(), done),
      ...both(responds()),
    },
    {
      name: 'cumulative',
      act: streams(
        role,
        ...[1, 2, 3, 4].map((n) =>
          delta({ content: 'a ' }, null, { usage: { prompt_tokens: 10, completion_tokens: n } }),
        ),
        stop,
        used(),
        done,
      ),
      ...both(responds('a a a a ')),
    },
    {
      name: 'before the finish',
      act: streams(role, used(), contentChunk(), stop, done),
      ...both(responds()),
    },
    {
      name: 'on the finish',
      act: streams(role, contentChunk(), delta({}, 'stop', { usage: counted }), done),
      ...both(responds()),
    },
    {
      name: 'null on every chunk but the last',
      act: streams(
        delta({ content: words }, null, { usage: null }),
        delta({}, 'stop', { usage: null }),
        used(),
        done,
      ),
      ...both(responds()),
    },
    {
      name: 'without a choices member',
      act: streams(role, contentChunk(), stop, event({ usage: counted }), done),
      ...both(responds()),
    },
    {
      name: 'after [DONE]',
      act: streams(role, contentChunk(), stop, done, used()),
      ...both(responds(words, 'counted', 'counted')),
    },
  ],
};
