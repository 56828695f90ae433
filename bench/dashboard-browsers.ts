/**
 * Open dashboards as browsers have them, in a process of their own, so that their own work is not
 * counted as the gateway's. A line of JSON on standard input opens them (`OpenDashboards`), the
 * line `close` closes them; each is answered with a line when it is done. Ends with its input.
 */
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
  const ends: Promise<unknown>[] = [];
  for (const token of tokens) {
    const response = await fetch(`${origin}/dashboard/api/generations/live`, {
      headers: { cookie: `naru_session=${token}` },
      signal: abort.signal,
    });
    if (response.status !== 200) throw new Error(`a live view was refused with ${response.status}`);
    const browser = new PageBrowser(origin, 'dashboard', token);
    ends.push(Promise.allSettled([drain(response), refresh(browser, abort.signal)]));
  }
  return async () => {
    abort.abort();
    await Promise.all(ends);
  };
}

async function drain(response: Response): Promise<void> {
  for await (const _ of response.body ?? []);
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
