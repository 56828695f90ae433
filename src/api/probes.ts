import { route } from './route.ts';

/**
 * Whether this process can serve now; `reason` states why not. It serves other accounts while some
 * servers of a cluster are away: the shards are those of `naru database status`.
 */
export type Readiness =
  | { readonly ready: true; readonly shardsAway?: readonly number[] }
  | { readonly ready: false; readonly reason: string };

const uncached = { 'Cache-Control': 'no-store' };

/**
 * `GET /healthz` (the process is alive) and `GET /readyz` (it can serve): for a load balancer
 * (spec:operator/3).
 */
export function probeRoutes(readiness: () => Promise<Readiness>) {
  return [
    route({
      method: 'GET',
      path: '/healthz',
      credential: 'none',
      handle: () => ({ body: { status: 'ok' }, headers: uncached }),
    }),
    route({
      method: 'GET',
      path: '/readyz',
      credential: 'none',
      handle: async () => {
        const state = await readiness();
        if (!state.ready) return { status: 503, body: { status: 'not ready', reason: state.reason } };
        const away = state.shardsAway ?? [];
        const body = { status: 'ready', ...(away.length === 0 ? {} : { shards_away: away }) };
        return { body, headers: uncached };
      },
    }),
  ];
}
