import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';
import type { Clock } from '../time/clock.ts';

/** An engine that takes longer than this to say that it is well is not. */
const timeoutMs = 2000;

/** The status that `url` answers a GET with, on a connection of its own; null when nobody answers within 2 s. */
export function statusOf(url: string, clock: Clock): Promise<number | null> {
  return new Promise((resolve) => {
    const get = url.startsWith('https:') ? getHttps : getHttp;
    const request = get(url, { agent: false }, (response) => {
      resolve(response.statusCode ?? null);
      response.resume();
    });
    const timer = clock.after(timeoutMs, () => request.destroy(new Error('no answer')));
    request.on('error', () => resolve(null));
    request.on('close', () => timer.cancel());
  });
}
