import type { SlotSettings } from '../../config/config.ts';
import type { Clock } from '../../time/clock.ts';
import type { Driver } from './driver.ts';
import { otherModel, statusOf } from './health.ts';

/** A server that someone else runs: it is up or down, and Naru never stops it (design.md, D6). */
export function externalDriver(
  settings: SlotSettings,
  root: string,
  healthPath: string,
  clock: Clock,
): Driver {
  const access = { clock, apiKey: settings.apiKey };
  const base = root.replace(/(?<!\/)\/+$/, '');
  const baseUrl = `${base}${settings.basePath}`.replace(/(?<!\/)\/+$/, '');
  return {
    start(report) {
      const engine = { pid: null, port: null, baseUrl };
      queueMicrotask(() => report({ kind: 'spawned', engine }));
      const go = (): void => queueMicrotask(() => report({ kind: 'gone' }));
      return {
        probe: async () => {
          if ((await statusOf(`${base}${healthPath}`, access)) !== 200) return 'waiting';
          const { model } = settings;
          const other = model === null ? null : await otherModel(baseUrl, model, access);
          return other === null ? 'ready' : { wrong: `serves ${other}, not ${model}` };
        },
        terminate: go,
        kill: go,
      };
    },
  };
}
