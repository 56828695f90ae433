import type { Clock } from '../time/clock.ts';
import type { Driver } from './driver.ts';
import { statusOf } from './health.ts';
import type { SlotSettings } from './settings.ts';

/** A server that somebody else runs: it is there or it is not, and nothing stops it (design.md, D6). */
export function externalDriver(
  settings: SlotSettings,
  root: string,
  healthPath: string,
  clock: Clock,
): Driver {
  const base = root.replace(/(?<!\/)\/+$/, '');
  const baseUrl = `${base}${settings.basePath}`.replace(/(?<!\/)\/+$/, '');
  return {
    start(report) {
      const engine = { pid: null, port: null, baseUrl };
      queueMicrotask(() => report({ kind: 'spawned', engine }));
      const go = (): void => queueMicrotask(() => report({ kind: 'gone' }));
      return {
        probe: async () => ((await statusOf(`${base}${healthPath}`, clock)) === 200 ? 'ready' : 'waiting'),
        terminate: go,
        kill: go,
      };
    },
  };
}
