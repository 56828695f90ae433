import type { ControlHandler, ControlResponse } from '../http/control/serve.ts';
import type { Log } from '../log/log.ts';
import type { Slots } from '../slots/contract.ts';
import { type ControlledSlots, handleSlots } from '../slots/control.ts';
import type { AuditContext } from './audited.ts';
import { slotOperations } from './slot-operations.ts';

/** What the control socket reaches: of a server with workers, the parts of all of them together. */
export interface ControlTargets {
  readonly slots: ControlledSlots;
  readonly settlements: {
    /**
     * Resolves when every settlement made so far is in the database; rejects when that takes too
     * long, or when only the journal can have one.
     */
    caughtUp(): Promise<void>;
    /** Settlements that are not in the database yet. */
    backlog(): number | Promise<number>;
  };
  /** Handles `/route` and `/route/health`. */
  readonly routes: ControlHandler;
  /** Handles `/origins` and `/console`. */
  readonly pages: ControlHandler;
}

/** The handler of the control socket (docs/decisions/control-socket.md): `/slots`, `/settlements`, `/route`,
 * `/origins` and `/console`. */
export function controlRoutes({ slots, settlements, routes, pages }: ControlTargets): ControlHandler {
  return async (method, path, query): Promise<ControlResponse> => {
    switch (path[0]) {
      case 'route':
        return routes(method, path, query);
      case 'origins':
      case 'console':
        return pages(method, path, query);
      case 'settlements':
        // A backup needs the settlements of the journal in its snapshot.
        if (method === 'POST') await settlements.caughtUp();
        return { status: 200, body: { backlog: await settlements.backlog() } };
      default:
        return handleSlots(slots, method, path, query);
    }
  };
}

/**
 * The slots for commands: what they do is in the audit log. Who may open the control socket owns the
 * data directory, and states its own name.
 */
export function controlledSlots(
  slots: Slots,
  context: Omit<AuditContext, 'actor'> & { readonly log: Log },
): ControlledSlots {
  const operations = (name: string) => slotOperations({ ...context, slots, actor: { kind: 'cli', name } });
  return {
    statuses: () => slots.statuses(),
    status: (name) => slots.status(name),
    start: (name, by) => operations(by).start(name, null),
    stop: async (name, drainMs, by) => (await operations(by).stop(name, drainMs, null)).ended,
  };
}
