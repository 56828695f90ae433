import type { ControlHandler, ControlResponse } from '../http/control/serve.ts';
import { isoOf } from '../time/clock.ts';
import type { Actor } from './audit.ts';
import type { Identity } from './identity.ts';
import { linkUrl, type PageOrigins } from './page-links.ts';

/** A link to the console, as `naru console --json` prints it. */
export interface ConsoleLinkRow {
  readonly operator: string;
  readonly role: string;
  readonly url: string;
  readonly expires_at: string;
}

/** Handles `GET /origins` and `POST /console?by=…&name=…` of the control socket. */
export function controlPages(identity: Identity, origins: () => PageOrigins): ControlHandler {
  return async (method, path, query): Promise<ControlResponse> => {
    if (path.length > 1) return refused(404, 'no such path');
    if (path[0] === 'origins') return { status: 200, body: origins() };
    if (method !== 'POST') return refused(405, 'use POST');
    const name = query.get('name');
    // A person who may open the control socket owns the data directory, and states its own name.
    const actor: Actor = { kind: 'cli', name: query.get('by') ?? 'naru console' };
    const operator =
      name === null ? await identity.operators.only(actor) : await identity.operators.find(name);
    if (operator === 'several') {
      const names = (await identity.operators.list()).map((one) => one.name).join(', ');
      return refused(409, `there are several operators: pass --name with one of ${names}`);
    }
    if (operator === null) return refused(404, `no operator ${name}; run naru operator list`);
    const link = await identity.links.openConsole(operator, actor);
    const row: ConsoleLinkRow = {
      operator: operator.name,
      role: operator.role,
      url: linkUrl(origins(), link),
      expires_at: isoOf(link.expiresAtMs),
    };
    return { status: 200, body: row };
  };
}

function refused(status: number, error: string): ControlResponse {
  return { status, body: { error } };
}
