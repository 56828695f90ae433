/**
 * Open dashboards as browsers have them, in a process of their own that yields to the load: browsers
 * run on other machines, so what they cost is not counted as the gateway's, nor is the load kept
 * waiting. A line of JSON on standard input opens them (`OpenDashboards`), the
 * line `close` closes them; each is answered with a line when it is done. Ends with its input.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { PageBrowser } from '../test/harness/pages.ts';

/** Which dashboards to open. */
export interface OpenDashboards {
  readonly origin: string;
  /** One token of a session for each dashboard. */
  readonly tokens: readonly string[];
}

/** How often a page reads its figures again. */
const refreshMs = 15_000;

setPriority(19);
let close = async (): Promise<void> => {};
process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'close') await close();
  else close = await open(JSON.parse(line) as OpenDashboards);
  process.stdout.write('done\n');
}

/** Resolves when every live view receives events. */
async function open({ origin, tokens }: OpenDashboards): Promise<() => Promise<void>> {
  const abort = new AbortController();
  const sockets: Socket[] = [];
  const reads: Promise<unknown>[] = [];
  for (const token of tokens) {
    sockets.push(await openLiveView(origin, token));
    const browser = new PageBrowser(origin, 'dashboard', token);
    reads.push(refresh(browser, abort.signal).catch(() => {}));
  }
  return async () => {
    abort.abort();
    for (const socket of sockets) socket.destroy();
    await Promise.all(reads);
  };
}

/** Follows the requests of the account; reads the events and ignores them. */
async function openLiveView(origin: string, token: string): Promise<Socket> {
  const { hostname, port, host } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => {});
  socket.write(
    `GET /dashboard/api/generations/live HTTP/1.1\r\nhost: ${host}\r\ncookie: naru_session=${token}\r\n\r\n`,
  );
  const [first] = await once(socket, 'data');
  const [statusLine] = String(first).split('\r\n');
  if (!statusLine?.startsWith('HTTP/1.1 200 ')) throw new Error(`a live view was refused: ${statusLine}`);
  return socket.resume();
}

/** Reads the figures of the overview, at a moment of its own. */
async function refresh(browser: PageBrowser, signal: AbortSignal): Promise<void> {
  await pause(Math.random() * refreshMs, undefined, { signal });
  while (!signal.aborted) {
    for (const path of ['/account', '/usage/totals?range=today', '/usage/totals?range=7d'])
      await browser.get(path);
    await pause(refreshMs, undefined, { signal });
  }
}
