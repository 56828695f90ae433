import { z } from 'zod';
import type { KeyHash } from '../../accounts/api-key.ts';
import type { KeyWithSpend } from '../../accounts/key-service.ts';
import { requirements } from '../../errors/messages.ts';
import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import { assertKnown } from '../../routing/restrictions.ts';
import { limitResets } from '../../time/period.ts';
import { must } from '../../wire/parse-with.ts';
import {
  requestedExpiry,
  requestedRestrictions,
  restrictionsIn,
  visibleName,
} from '../../wire/shapes/keys.ts';
import { booleanText, integerText } from '../../wire/shapes/query.ts';
import type { DashboardContext } from '../context.ts';
import { pageOfRows } from '../cursor.ts';
import { pageRoute } from '../page-route.ts';
import { microText, pageOf, sentOnceShape } from '../shapes.ts';
import { keyHashOf, noSuchKey, pageKey, pageKeyShape, readKeyUse } from './key-shape.ts';

/** Most accounts have all their keys in one page: the pages order them in the browser. */
const pageSize = 500;

const kind = z.enum(['inference', 'management'], {
  error: must(requirements.oneOf(['inference', 'management'])),
});
const limitReset = z.enum(limitResets, { error: must(requirements.oneOf(limitResets)) });
const createdShape = z.strictObject({
  data: pageKeyShape,
  key: z.string().nullable().describe('The plaintext key, which only the first response contains'),
  ...sentOnceShape,
});
const sentOnce = { members: ['key'], message: pageMessages.keySentOnce } as const;

/** The keys of the account (U5) and its management keys (U6): the use cases of `/api/v1/keys`. */
export function keyPages(parts: DashboardContext) {
  return [
    listPage(parts),
    readPage(parts),
    createPage(parts),
    changePage(parts),
    rotatePage(parts),
    revokePage(parts),
  ];
}

function listPage(parts: DashboardContext) {
  return pageRoute({
    method: 'GET',
    path: '/dashboard/api/keys',
    summary: 'The keys that are not revoked, newest first',
    query: z.object({ kind: kind.optional(), cursor: integerText(1).optional() }),
    response: pageOf(pageKeyShape),
    handle: async ({ session: { accountId }, query: { kind: only, cursor = null } }) => {
      const place = { beforeId: cursor, limit: pageSize + 1 };
      const keys = await parts.keyReader.page(accountId, place, true, only);
      const { rows, next } = pageOfRows(keys, pageSize, ({ row }) => row.id);
      return { items: await shown(parts, accountId, rows), next };
    },
  });
}

function readPage(parts: DashboardContext) {
  return pageRoute({
    method: 'GET',
    path: '/dashboard/api/keys/{hash}',
    summary: 'One key, which may be revoked',
    response: pageKeyShape,
    handle: async ({ session: { accountId }, params: { hash } }) =>
      oneOf(parts, accountId, await parts.keyReader.read(accountId, keyHashOf(hash))),
  });
}

function createPage(parts: DashboardContext) {
  return pageRoute({
    method: 'POST',
    path: '/dashboard/api/keys',
    summary: 'Create a key; only this response contains the plaintext key',
    body: z.object({
      kind,
      name: visibleName,
      limit_micro: microText.nullable().optional(),
      limit_reset: limitReset.optional(),
      expires_at: requestedExpiry.optional(),
      ...requestedRestrictions,
    }),
    response: createdShape,
    sentOnce,
    handle: async ({ session: { accountId }, body }) => {
      const restrictions = restrictionsIn(body);
      assertKnown(parts.catalogue(), restrictions);
      const { plaintext, ...key } = await parts.keyService.create({
        accountId,
        kind: body.kind,
        name: body.name,
        limit: body.limit_micro ?? null,
        limitReset: body.limit_reset ?? 'never',
        expiresAtMs: body.expires_at ?? null,
        restrictions,
      });
      return { data: await oneOf(parts, accountId, key), key: plaintext, message: null };
    },
  });
}

function changePage(parts: DashboardContext) {
  return pageRoute({
    method: 'PATCH',
    path: '/dashboard/api/keys/{hash}',
    summary: 'Change the stated settings of a key',
    body: z.object({
      name: visibleName.optional(),
      switched_off: z.boolean().optional(),
      limit_micro: microText.nullable().optional(),
      limit_reset: limitReset.optional(),
      ...requestedRestrictions,
    }),
    response: pageKeyShape,
    handle: async ({ session: { accountId }, params: { hash }, body }) => {
      const { name, switched_off, limit_micro, limit_reset } = body;
      const change = {
        ...(name === undefined ? {} : { name }),
        ...(switched_off === undefined ? {} : { userDisabled: switched_off }),
        ...(limit_micro === undefined ? {} : { limitMicro: limit_micro }),
        ...(limit_reset === undefined ? {} : { limitReset: limit_reset }),
        restrictions: restrictionsIn(body),
      };
      assertKnown(parts.catalogue(), change.restrictions);
      await assertNotRevoked(parts, accountId, keyHashOf(hash));
      return oneOf(parts, accountId, await parts.keyService.change(accountId, keyHashOf(hash), change));
    },
  });
}

function rotatePage(parts: DashboardContext) {
  return pageRoute({
    method: 'POST',
    path: '/dashboard/api/keys/{hash}/rotate',
    summary: 'Create a key with the same settings; the old key expires at the given time, or now',
    body: z.object({ ends_at: requestedExpiry.optional() }),
    response: createdShape,
    sentOnce,
    handle: async ({ session: { accountId }, params: { hash }, body: { ends_at } }) => {
      await assertNotRevoked(parts, accountId, keyHashOf(hash));
      const rotated = await parts.keyService.rotate(accountId, keyHashOf(hash), ends_at ?? parts.clock.now());
      if (rotated === null) throw noSuchKey();
      const { plaintext, ...key } = rotated;
      return { data: await oneOf(parts, accountId, key), key: plaintext, message: null };
    },
  });
}

function revokePage(parts: DashboardContext) {
  return pageRoute({
    method: 'DELETE',
    path: '/dashboard/api/keys/{hash}',
    summary: 'Revoke a key permanently',
    query: z.object({
      now: booleanText().optional().describe('Whether its calls in flight end too; by default they go on'),
    }),
    response: z.strictObject({ revoked: z.literal(true) }),
    handle: async ({ session: { accountId }, params: { hash }, query: { now = false } }) => {
      if (!(await parts.keyService.revoke(accountId, keyHashOf(hash), now))) throw noSuchKey();
      return { revoked: true as const };
    },
  });
}

/** A page may show a key that was revoked in another window: its owner learns why nothing is saved. */
async function assertNotRevoked(
  { keyReader }: DashboardContext,
  accountId: number,
  hash: KeyHash,
): Promise<void> {
  const key = await keyReader.read(accountId, hash);
  if (key !== null && key.row.revokedAtMs !== null)
    throw new PageRefusal('conflict', pageMessages.keyRevokedMeanwhile);
}

async function oneOf(
  parts: DashboardContext,
  accountId: number,
  key: KeyWithSpend | null,
): Promise<z.input<typeof pageKeyShape>> {
  const [one] = key === null ? [] : await shown(parts, accountId, [key]);
  if (one === undefined) throw noSuchKey();
  return one;
}

async function shown(
  { reads, clock, accounts }: DashboardContext,
  accountId: number,
  keys: readonly KeyWithSpend[],
): Promise<z.input<typeof pageKeyShape>[]> {
  const nowMs = clock.now();
  const ids = keys.map(({ row }) => row.id);
  const use = await readKeyUse(reads, { accountId, ids, nowMs });
  const balance = (await accounts.current(accountId))?.balance ?? 0n;
  return keys.map((key) => pageKey(key, use, { balance, nowMs }));
}
