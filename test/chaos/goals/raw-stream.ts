import { connect } from 'node:net';

/** A client's side of one request on its own connection. */
export interface Conversation {
  /** All received bytes, if it reads. */
  received(): string;
  close(): void;
}

/**
 * Sends a request. Without `read` the response is never read: the socket's buffers fill, and stay
 * full.
 */
export function openConversation(
  port: number,
  request: { readonly key: string; readonly model: string; readonly stream: boolean; readonly read: boolean },
): Conversation {
  const { model, stream } = request;
  const body = JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'hello' }] });
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let text = '';
  socket.on('error', () => {});
  if (request.read) {
    socket.setEncoding('latin1').on('data', (part) => {
      text += part;
    });
  } else socket.pause();
  socket.write(
    `POST /api/v1/chat/completions HTTP/1.1\r\nhost: naru\r\nauthorization: Bearer ${request.key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  return { received: () => text, close: () => socket.destroy() };
}
