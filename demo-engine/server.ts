/**
 * An OpenAI-compatible server for the demo model: a separate program that imports nothing from
 * Naru, which starts it like any other engine (`docs/demo-engine.md`).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { readBody } from './body.ts';
import { createEngine, type Engine } from './engine.ts';
import { stringOf } from './fields.ts';
import { contextTokens, loadModel } from './native.ts';
import { type Options, optionsOf, usage } from './options.ts';
import { errorBodyOf, Refusal } from './refusal.ts';
import { modelId } from './reply.ts';
import { parseChatRequest, parseTextRequest } from './request.ts';
import { respond, sendJson } from './respond.ts';

type Handler = (
  engine: Engine,
  request: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
) => Promise<void> | void;

const handlers: Readonly<Record<string, Handler>> = {
  'GET /health': (engine, _request, response) => sendJson(response, 200, { status: 'ok', busy: engine.busy }),
  'GET /v1/models': (_engine, _request, response) =>
    sendJson(response, 200, {
      object: 'list',
      data: [{ id: modelId, object: 'model', created: 0, owned_by: 'naru', context_length: contextTokens }],
    }),
  'POST /v1/chat/completions': async (engine, request, response, signal) =>
    await respond(engine, parseChatRequest(await readBody(request)), response, signal),
  'POST /v1/completions': async (engine, request, response, signal) =>
    await respond(engine, parseTextRequest(await readBody(request)), response, signal),
  'POST /tokenize': async (engine, request, response) => {
    const { content } = await readBody(request);
    sendJson(response, 200, { tokens: await engine.tokenize(stringOf(content, 'content')) });
  },
};

/** Handles one request; every error becomes an error body, unless the client has disconnected. */
async function handle(
  engine: Engine | null,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => gone.abort(new Error('the client disconnected')));
  try {
    const [path = ''] = (request.url ?? '').split('?');
    const handler = handlers[`${request.method} ${path}`];
    if (handler === undefined) throw new Refusal(404, `no route ${request.method} ${path}`);
    if (engine === null) throw new Refusal(503, 'the model is loading');
    await handler(engine, request, response, gone.signal);
  } catch (thrown) {
    if (response.headersSent || gone.signal.aborted) return void response.destroy();
    const { status, body } = errorBodyOf(thrown);
    if (status === 500)
      process.stderr.write(`demo engine: ${thrown instanceof Error ? thrown.stack : String(thrown)}\n`);
    sendJson(response, status, body);
  }
}

/** Listens immediately, then loads the model; returns 503 until it is loaded. */
async function serve(args: readonly string[]): Promise<void> {
  const options = optionsOf(args);
  let engine: Engine | null = null;
  const server = createServer((request, response) => void handle(engine, request, response));
  // Longer than client pools keep connections, so that none is closed at the moment of reuse.
  server.keepAliveTimeout = 120_000;
  await listening(server, options);
  await wait(options.startDelayMs);
  engine = createEngine(loadModel(options.modelPath), options.parallel);
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`demo engine ready on http://${options.host}:${port}\n`);
}

function listening(server: Server, { host, port }: Options): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(0));
serve(process.argv.slice(2)).catch((thrown: unknown) => {
  process.stderr.write(
    `demo engine: ${thrown instanceof Error ? thrown.message : String(thrown)}\n${usage}\n`,
  );
  process.exit(1);
});
