import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Engine } from './engine.ts';
import { errorBodyOf } from './refusal.ts';
import { mayBeCall, type Reply, replyTo } from './reply.ts';
import type { EngineRequest } from './request.ts';

/**
 * Generates the response and sends it, whole or as a stream. Stops immediately when `signal`
 * aborts.
 */
export async function respond(
  engine: Engine,
  request: EngineRequest,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const id = `${request.kind === 'chat' ? 'chatcmpl' : 'cmpl'}-${randomUUID().replaceAll('-', '')}`;
  const reply = replyTo(request, id, Math.floor(Date.now() / 1000));
  if (request.stream) return await respondInChunks(engine, request, reply, response, signal);
  let text = '';
  const collect = (piece: string): void => {
    text += piece;
  };
  const outcome = await engine.generate(request.generate, collect, signal);
  sendJson(response, 200, reply.whole(text, outcome));
}

/** Sends a JSON body. */
export function sendJson(response: ServerResponse, status: number, body: object): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': bytes.length,
  });
  response.end(bytes);
}

async function respondInChunks(
  engine: Engine,
  request: EngineRequest,
  reply: Reply,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const send = (chunk: object): void => {
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  /** The first token commits the status: until then an error can have its own. */
  const open = (): void => {
    if (response.headersSent) return;
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
    });
    const opening = reply.opening();
    if (opening !== null) send(opening);
  };
  let heldBack = '';
  let isText = false;
  try {
    const outcome = await engine.generate(
      request.generate,
      (piece) => {
        open();
        heldBack += piece;
        isText ||= !mayBeCall(request, heldBack);
        if (!isText) return;
        send(reply.piece(heldBack));
        heldBack = '';
      },
      signal,
    );
    open();
    for (const chunk of reply.ending(heldBack, outcome)) send(chunk);
  } catch (thrown) {
    if (!response.headersSent || signal.aborted) throw thrown;
    send(errorBodyOf(thrown).body);
  }
  response.end('data: [DONE]\n\n');
}
