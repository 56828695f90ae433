import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Ask } from './ask.ts';
import type { Engine } from './engine.ts';
import { errorBodyOf } from './refusal.ts';
import { mayBeCall, type Reply, replyTo } from './reply.ts';

/** Generates the response and sends it, whole or as a stream. Stops immediately when `signal` aborts. */
export async function answer(
  engine: Engine,
  ask: Ask,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const id = `${ask.kind === 'chat' ? 'chatcmpl' : 'cmpl'}-${randomUUID().replaceAll('-', '')}`;
  const reply = replyTo(ask, id, Math.floor(Date.now() / 1000));
  if (ask.stream) return await answerInChunks(engine, ask, reply, response, signal);
  let text = '';
  const collect = (piece: string): void => {
    text += piece;
  };
  const outcome = await engine.generate(ask.generate, collect, signal);
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

async function answerInChunks(
  engine: Engine,
  ask: Ask,
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
      ask.generate,
      (piece) => {
        open();
        heldBack += piece;
        isText ||= !mayBeCall(ask, heldBack);
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
