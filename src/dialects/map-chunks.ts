import type { ResponseChunk } from '../wire/chat.ts';
import type { DecodedEvent, UpstreamCodec } from './dialect.ts';

/** A codec whose chunks are changed by `change`; null: they are not. */
export function mapChunks(
  codec: UpstreamCodec,
  change: ((chunk: ResponseChunk) => ResponseChunk) | null,
): UpstreamCodec {
  if (change === null) return codec;
  const read = (event: DecodedEvent): DecodedEvent =>
    event.kind === 'chunk' ? { ...event, chunk: change(event.chunk) } : event;
  return {
    ...codec,
    readWhole: (body) => {
      const event = codec.readWhole(body);
      return event instanceof Promise ? event.then(read) : read(event);
    },
    readStream: (bytes, upstreamId) => {
      const stream = codec.readStream(bytes, upstreamId);
      return {
        read: (receiver) =>
          stream.read({
            take: (events) => receiver.take(events?.map(read) ?? null),
            fail: (error) => receiver.fail(error),
          }),
        get heldBytes() {
          return stream.heldBytes;
        },
      };
    },
  };
}

/** Gives tools the client's own names, where a request was sent with others. */
export function withOwnNames(
  codec: UpstreamCodec,
  ownName: ((name: string) => string) | null,
): UpstreamCodec {
  return mapChunks(codec, ownName === null ? null : (chunk) => withNames(chunk, ownName));
}

function withNames(chunk: ResponseChunk, ownName: (name: string) => string): ResponseChunk {
  return {
    ...chunk,
    choices: chunk.choices.map((choice) => {
      const { tool_calls: calls } = choice.delta;
      if (calls === undefined) return choice;
      const named = calls.map((call) => {
        const { name } = call.function;
        return name === undefined ? call : { ...call, function: { ...call.function, name: ownName(name) } };
      });
      return { ...choice, delta: { ...choice.delta, tool_calls: named } };
    }),
  };
}
