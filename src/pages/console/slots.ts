import { z } from 'zod';
import { refuse } from '../../errors/catalogue.ts';
import { messages } from '../../errors/messages.ts';
import { slotOperations } from '../../operations/slot-operations.ts';
import { readLog, startLogs } from '../../slots/read-log.ts';
import { integerText } from '../../wire/shapes/query.ts';
import type { ConsoleContext } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import type { OperatorSession } from '../page-session.ts';
import { latestOf, SharedPolls } from '../shared-polls.ts';
import type { WatchEvent } from '../watchers.ts';
import { actorOf } from './operators.ts';
import { slotBody, slotShape, slotsBody, slotsShape } from './slot-shape.ts';

const everyMs = 1_000;
const memoryEveryMs = 5_000;
const maxLines = 1_000;
const reason = z.string().trim().min(1).max(2_000);

/**
 * The slots of this server (A6): what they do, the output of their engines, start, stop and pin.
 */
export function slotPages(parts: ConsoleContext) {
  return [...slotReads(parts), ...slotActs(parts)];
}

function slotReads(parts: ConsoleContext) {
  const { watchers, clock, dataDir } = parts;
  const polls = new SharedPolls<WatchEvent>(clock, everyMs);
  const usedGpuMb = usedMemory(parts);
  const read = (): Promise<z.input<typeof slotsShape>> => slotsBody({ ...parts, usedGpuMb });
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/slots',
      summary: 'The slots of this server and the memory of its GPUs',
      response: slotsShape,
      handle: read,
    }),
    pageRoute({
      method: 'GET',
      path: '/console/api/slots/live',
      summary: 'A live stream of the same: event `slots` once a second',
      response: slotsShape,
      format: 'stream',
      handle: (call) =>
        watchers.watch(call, (push) =>
          polls.join('', () => latestOf(async () => ({ event: 'slots', data: await read() })), push),
        ),
    }),
    pageRoute({
      method: 'GET',
      path: '/console/api/slots/{name}/log',
      // An engine may write the prompts of customers.
      role: 'admin',
      summary: 'The last lines that the engine of a slot wrote',
      query: z.object({
        start: integerText(1, 100).default(1).describe('1: the latest start'),
        lines: integerText(1, maxLines).default(200),
      }),
      response: z.strictObject({
        starts: z.array(z.string()).describe('The start times of the engines with a log, the latest first'),
        lines: z.array(z.string()),
      }),
      handle: async ({ params, query }) => {
        assertSlot(parts, params.name);
        const logs = await startLogs(dataDir, params.name);
        const log = logs[query.start - 1];
        const lines = log === undefined ? [] : await Array.fromAsync(readLog(log, query.lines));
        return { starts: logs.map(({ startedAt }) => startedAt), lines: lines.map(({ line }) => line) };
      },
    }),
  ];
}

function slotActs(parts: ConsoleContext) {
  const of = (session: OperatorSession, name: string) => {
    assertSlot(parts, name);
    return slotOperations({ ...parts, actor: actorOf(session) });
  };
  const shown = (name: string): z.input<typeof slotShape> =>
    slotBody(parts.slots.status(name), parts.config());
  return [
    pageRoute({
      method: 'POST',
      path: '/console/api/slots/{name}/start',
      role: 'admin',
      summary: 'Start a slot, even during a back-off; returns before the engine is ready',
      body: z.object({ reason: reason.optional() }),
      response: slotShape,
      handle: async ({ session, params: { name }, body }) => {
        await of(session, name).start(name, body.reason ?? null);
        return shown(name);
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/console/api/slots/{name}/stop',
      role: 'admin',
      summary:
        'Stop a slot; returns before the engine has stopped. The next request for the slot starts it again',
      body: z.object({
        drain_s: z
          .int()
          .min(0)
          .max(86_400)
          .optional()
          .describe('The time for requests in flight to end; default 30'),
        reason: reason.optional(),
      }),
      response: slotShape,
      handle: async ({ session, params: { name }, body }) => {
        const drainMs = body.drain_s === undefined ? undefined : body.drain_s * 1000;
        await of(session, name).stop(name, drainMs, body.reason ?? null);
        return shown(name);
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/console/api/slots/{name}/pin',
      role: 'admin',
      summary:
        'Pin the engine of a slot until the server stops, so that no other slot evicts it; or unpin it',
      body: z.object({ pinned: z.boolean(), reason: reason.optional() }),
      response: slotShape,
      handle: async ({ session, params: { name }, body }) => {
        await of(session, name).pin(name, body.pinned, body.reason ?? null);
        return shown(name);
      },
    }),
  ];
}

/** The memory in use of a GPU, read at most every few seconds: it takes a process of its own. */
function usedMemory({ slots, clock }: ConsoleContext): (gpu: string) => Promise<number | null> {
  const latest = new Map<string, { readonly readMs: number; readonly used: Promise<number | null> }>();
  return (gpu) => {
    const nowMs = clock.monotonic();
    const known = latest.get(gpu);
    if (known !== undefined && nowMs - known.readMs < memoryEveryMs) return known.used;
    const used = slots.usedGpuMb(gpu);
    latest.set(gpu, { readMs: nowMs, used });
    return used;
  };
}

function assertSlot({ slots }: ConsoleContext, name: string): void {
  if (!slots.statuses().some((slot) => slot.name === name)) throw refuse('not_found', messages.noSuchSlot());
}
