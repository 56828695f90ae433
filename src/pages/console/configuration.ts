import { z } from 'zod';
import { type DescribedValue, valueOrigins } from '../../config/describe-config.ts';
import { recordAfter } from '../../operations/audited.ts';
import { isoOf } from '../../time/clock.ts';
import type { ConsoleContext, RunningConfiguration } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import { instant } from '../shapes.ts';
import { actorOf } from './operators.ts';

const maxValues = 20_000;
const outcomeShape = z.strictObject({ at: instant, error: z.string().nullable() }).nullable();
const differenceShape = z.strictObject({
  path: z.string(),
  running: z.string().nullable().describe('Null: not set'),
  on_disk: z.string().nullable(),
});
const valueShape = z.strictObject({
  path: z.string(),
  value: z.string().describe('`***` for a secret and for a value from outside the file'),
  origin: z.enum(valueOrigins),
});

/** The values in effect and where each comes from, the difference of the file, reload (A13). */
export function configurationPages({ database, clock, configuration }: ConsoleContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/configuration',
      summary: 'The configuration of this server, and its differences from the file',
      response: z.strictObject({
        file: z.string().nullable().describe('Null: there is no file'),
        values: z.array(valueShape),
        differences: z.array(differenceShape).describe('What a reload would change'),
        faults: z
          .array(z.string())
          .describe('The errors of the file on disk, each with its line; a reload fails while there are any'),
        last_reload: outcomeShape,
      }),
      handle: () => {
        const { file, running, lastReload } = configuration;
        const values = running.ok ? running.values : [];
        const { faults, differences } = compared(configuration);
        return {
          file,
          values: values
            .slice(0, maxValues)
            .map(({ path, shown, origin }) => ({ path, value: shown, origin })),
          differences: differences.slice(0, maxValues),
          faults,
          last_reload: lastReload === null ? null : { at: isoOf(lastReload.atMs), error: lastReload.error },
        };
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/console/api/configuration/reload',
      role: 'admin',
      summary: 'Apply the file on disk, as SIGHUP does; a file with errors is rejected',
      body: z.object({ reason: z.string().trim().min(1).max(2_000).optional() }),
      response: z.strictObject({ error: z.string().nullable().describe('The reason of the rejection') }),
      handle: async ({ session, body }) => {
        const paths = compared(configuration).differences.map(({ path }) => path);
        const error = await configuration.reload();
        await recordAfter(
          { database, clock, actor: actorOf(session) },
          {
            act: 'config.reload',
            reason: body.reason ?? null,
            before: { differences: paths.slice(0, 100) },
            after: { error },
          },
        );
        return { error };
      },
    }),
  ];
}

/** How the file differs from what is in effect. */
function compared(configuration: RunningConfiguration): {
  readonly faults: string[];
  readonly differences: z.input<typeof differenceShape>[];
} {
  const onDisk = readDisk(configuration);
  if (!onDisk.ok) return { faults: onDisk.faults, differences: [] };
  const { running } = configuration;
  const before = byPath(running.ok ? running.values : []);
  const after = byPath(onDisk.values);
  const differences = [...new Set([...before.keys(), ...after.keys()])].flatMap((path) => {
    const [was, will] = [before.get(path), after.get(path)];
    if (was?.digest === will?.digest) return [];
    return [{ path, running: was?.shown ?? null, on_disk: will?.shown ?? null }];
  });
  return { faults: [], differences };
}

function readDisk(
  configuration: RunningConfiguration,
):
  | { readonly ok: true; readonly values: readonly DescribedValue[] }
  | { readonly ok: false; readonly faults: string[] } {
  try {
    const found = configuration.onDisk();
    if (found.ok) return found;
    return {
      ok: false,
      faults: found.faults.map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`),
    };
  } catch (error) {
    return { ok: false, faults: [error instanceof Error ? error.message : String(error)] };
  }
}

function byPath(values: readonly DescribedValue[]): ReadonlyMap<string, DescribedValue> {
  return new Map(values.map((value) => [value.path, value]));
}
