/** Streams that end in the middle in various ways. */
import { both, broken, type FaultClass, failed, responds, streamed, words } from './fault.ts';
import {
  after,
  begins,
  closedOrReset,
  contentChunk,
  delta,
  done,
  event,
  framed,
  role,
  stop,
  story,
  streamHead,
  streams,
  used,
} from './payloads.ts';

export const cuts: FaultClass = {
  name: 'cut mid-stream',
  faults: [
    ...closedOrReset('before any event', (end) => begins([], end), both(failed(200))),
    ...closedOrReset('after a role', (end) => begins([role], end), both(failed(200))),
    ...closedOrReset('between two events', (end) => begins([role, contentChunk()], end), streamed(broken())),
    ...closedOrReset(
      'inside an event',
      (end) => begins([role, contentChunk(), 'data: {"choi'], end),
      streamed(broken()),
    ),
    ...closedOrReset(
      'inside a chunk',
      (end) =>
        after([streamHead, framed(role + contentChunk()), framed(contentChunk()).subarray(0, 30)], end),
      streamed(broken()),
    ),
    ...closedOrReset(
      'inside a chunk size',
      (end) => after([streamHead, framed(role + contentChunk()), '1'], end),
      streamed(broken()),
    ),
    ...closedOrReset('after the finish', (end) => begins([role, contentChunk(), stop], end), {
      stream: responds(words, 'counted', 'counted'),
      whole: responds(words, 'counted', 'counted'),
    }),
    ...closedOrReset(
      'after [DONE], without the last chunk',
      (end) => begins([story()], end),
      both(responds()),
    ),
    {
      name: 'ended properly without a finish',
      act: streams(role, contentChunk()),
      ...streamed(broken()),
    },
    {
      name: 'bad JSON',
      act: streams(role, contentChunk(), event('{"choices":[{"delta":'), stop, used(), done),
      ...streamed(broken()),
    },
    {
      name: 'HTML in an event',
      act: streams(role, contentChunk(), event('<html>'), done),
      ...streamed(broken()),
    },
    {
      name: 'null in an event',
      act: streams(role, contentChunk(), event('null'), done),
      ...streamed(broken()),
    },
    {
      name: 'a list in an event',
      act: streams(role, contentChunk(), event('[]'), done),
      ...streamed(broken()),
    },
    {
      name: 'bad JSON first',
      act: streams(event('{bad'), contentChunk(), stop, used(), done),
      ...both(failed(200)),
    },
    {
      name: 'an error in band',
      act: streams(role, contentChunk(), event({ error: { message: 'overloaded', code: 529 } }), done),
      ...streamed(broken(words, 529)),
    },
    {
      name: 'an error in band, as a string',
      act: streams(role, contentChunk(), event({ error: 'overloaded' }), done),
      ...streamed(broken()),
    },
    {
      name: 'an error event',
      act: streams(
        role,
        contentChunk(),
        `event: error\n${event({ error: { message: 'no', status: '503' } })}`,
      ),
      ...streamed(broken(words, 503)),
    },
    {
      name: 'an error in band first',
      act: streams(role, event({ error: { message: 'no', code: 503 } }), done),
      ...both(failed(503)),
    },
    {
      name: 'an error beside choices',
      act: streams(
        role,
        contentChunk(),
        delta({ content: 'no' }, 'error', { error: { code: 502, message: 'x' } }),
        done,
      ),
      ...streamed(broken(words, 502)),
    },
    {
      name: 'an error inside a choice',
      act: streams(
        role,
        contentChunk(),
        event({ choices: [{ index: 0, delta: {}, finish_reason: 'error', error: { code: 500 } }] }),
        done,
      ),
      ...streamed(broken(words, 500)),
    },
    {
      name: 'a giant line',
      heavy: true,
      act: begins([role, contentChunk()], async (wire) => {
        for (let sent = 0; sent < 20; sent += 1) await wire.send(framed('x'.repeat(1024 * 1024)));
        await wire.hang();
      }),
      ...streamed(broken()),
    },
    {
      name: 'a giant event of many lines',
      heavy: true,
      act: begins([role, contentChunk()], async (wire) => {
        const line = framed(`data: ${'x'.repeat(256 * 1024)}\n`);
        for (let sent = 0; sent < 80; sent += 1) await wire.send(line);
        await wire.hang();
      }),
      ...streamed(broken()),
    },
    {
      name: 'a giant line first',
      heavy: true,
      act: begins([], async (wire) => {
        for (let sent = 0; sent < 20; sent += 1) await wire.send(framed('x'.repeat(1024 * 1024)));
        await wire.hang();
      }),
      ...both(failed(200)),
    },
  ],
};
