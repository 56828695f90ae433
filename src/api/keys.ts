import type { z } from 'zod';
import type { AccountCache } from '../accounts/account-cache.ts';
import type { KeyKind } from '../accounts/api-key.ts';
import { parseKeyHash } from '../accounts/api-key.ts';
import type { Caller } from '../accounts/authenticate.ts';
import type { KeyService, KeyWithSpend } from '../accounts/key-service.ts';
import { assertValid } from '../accounts/rules.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { assertKnown } from '../routing/restrictions.ts';
import type { Clock } from '../time/clock.ts';
import { parsedValue } from '../wire/json.ts';
import type { RequestContext } from '../wire/request-context.ts';
import {
  changeKeyDocument,
  createKeyDocument,
  listKeysDocument,
  readKeyDocument,
  revokeKeyDocument,
} from './documents/keys.ts';
import { keyBody } from './key-object.ts';
import { route } from './route.ts';
import { validated } from './validated.ts';

/** What the key endpoints need. */
export interface KeyRouteParts {
  readonly clock: Clock;
  readonly maxBodyBytes: () => number;
  readonly keyService: KeyService;
  readonly accounts: AccountCache;
  /** The current catalogue. */
  readonly catalogue: () => Catalogue;
}

/** Manages keys with a management key (spec:api/6,7): only those of its own account. */
export function keyRoutes(parts: KeyRouteParts) {
  return [listRoute(parts), createRoute(parts), readRoute(parts), changeRoute(parts), revokeRoute(parts)];
}

function listRoute(parts: KeyRouteParts) {
  const { keyService } = parts;
  return route({
    method: 'GET',
    path: '/api/v1/keys',
    credential: 'management',
    document: listKeysDocument,
    handle: async ({ caller, query }) => {
      const page = await keyService.page(
        caller.accountId,
        { offset: query.offset ?? 0 },
        query.include_disabled ?? true,
      );
      return { body: { data: page.map((key) => bodyOf(parts, key)) } };
    },
  });
}

function createRoute(parts: KeyRouteParts) {
  const { keyService } = parts;
  return route({
    method: 'POST',
    path: '/api/v1/keys',
    credential: 'management',
    document: createKeyDocument,
    handle: async (call) => {
      const { caller } = call;
      const order = await readJsonBody(parts, call, 'management', createKeyDocument.body);
      assertKnown(parts.catalogue(), order.restrictions);
      const created = await keyService.create({ ...order, accountId: caller.accountId, kind: 'inference' });
      return { status: 201, body: { data: bodyOf(parts, created), key: created.plaintext } };
    },
  });
}

function readRoute(parts: KeyRouteParts) {
  const { keyService } = parts;
  return route({
    method: 'GET',
    path: '/api/v1/keys/{hash}',
    credential: 'management',
    document: readKeyDocument,
    handle: async ({ caller, params }) => {
      const hash = parseKeyHash(params.hash);
      const key = hash === null ? null : await keyService.read(caller.accountId, hash);
      if (key === null) throw noSuchKey(params.hash);
      return { body: { data: bodyOf(parts, key) } };
    },
  });
}

function changeRoute(parts: KeyRouteParts) {
  const { keyService } = parts;
  return route({
    method: 'PATCH',
    path: '/api/v1/keys/{hash}',
    credential: 'management',
    document: changeKeyDocument,
    handle: async (call) => {
      const { caller, params } = call;
      const hash = parseKeyHash(params.hash);
      const change = await readJsonBody(parts, call, 'management', changeKeyDocument.body);
      assertKnown(parts.catalogue(), change.restrictions);
      const isEmpty = Object.keys(change).length === 0;
      const key =
        hash === null
          ? null
          : await (isEmpty
              ? keyService.read(caller.accountId, hash)
              : keyService.change(caller.accountId, hash, change));
      if (key === null) throw noSuchKey(params.hash);
      return { body: { data: bodyOf(parts, key) } };
    },
  });
}

function revokeRoute({ keyService }: KeyRouteParts) {
  return route({
    method: 'DELETE',
    path: '/api/v1/keys/{hash}',
    credential: 'management',
    document: revokeKeyDocument,
    handle: async ({ caller, params }) => {
      const hash = parseKeyHash(params.hash);
      if (hash === null || !(await keyService.revoke(caller.accountId, hash))) throw noSuchKey(params.hash);
      // OpenRouter's own client requires `deleted` (spec:api/6.12).
      return { body: { data: { success: true }, deleted: true } };
    },
  });
}

function bodyOf({ accounts }: KeyRouteParts, key: KeyWithSpend): object {
  return keyBody(key, accounts.getCached(key.row.accountId)?.hasNoCredit ?? false);
}

/** The same bytes whether the key does not exist or belongs to another account (spec:api/6.2). */
function noSuchKey(hash: string): Error {
  const short = hash.length > 16 ? `${hash.slice(0, 8)}…${hash.slice(-4)}` : hash.slice(0, 8);
  return refuse('not_found', messages.noSuchKey(short));
}

/**
 * Reads the body of an identified caller's request as its schema parses it. A key that is not valid
 * any more when the body has arrived is refused. Refuses with `400 invalid_request` what does not
 * follow the schema; of a doubled member the last one counts.
 */
async function readJsonBody<S extends z.ZodType>(
  { clock, maxBodyBytes }: KeyRouteParts,
  { caller: { key }, exchange }: { readonly caller: Caller; readonly exchange: RequestContext },
  credential: KeyKind,
  schema: S,
): Promise<z.output<S>> {
  const { parsed } = await key.withPin(exchange.json(maxBodyBytes()));
  assertValid(key, credential, clock.now());
  return validated(schema, parsedValue(parsed));
}
