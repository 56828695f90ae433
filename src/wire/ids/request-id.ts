import { randomFillSync } from 'node:crypto';
import { type GenerationUuid, newGenerationUuid, withLead } from './generation-id.ts';

const pool = Buffer.alloc(16 * 256);
let poolOffset = pool.length;

/**
 * `req_<32 hex>`: identifies one request and all of its candidate attempts (spec:api/4.2). Never
 * taken from the client.
 */
export function newRequestId(): string {
  if (poolOffset === pool.length) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  poolOffset += 16;
  return `req_${pool.toString('hex', poolOffset - 16, poolOffset)}`;
}

/**
 * The id of a request that arrived at `epochMs`. Its digits are the identity of the generation that
 * the request becomes, so that a failed request is found by the id in its error (spec:api/16.2).
 */
export function requestIdAt(epochMs: number): string {
  return `req_${newGenerationUuid(epochMs)}`;
}

/** The same id, leading to the account of the caller; unchanged when it has no identity. */
export function requestIdWithLead(requestId: string, accountId: number): string {
  const uuid = generationOfRequest(requestId);
  return uuid === null ? requestId : `req_${withLead(uuid, accountId)}`;
}

/**
 * The identity of the generation that a request becomes; null for an id that `requestIdAt` did not
 * make.
 */
export function generationOfRequest(requestId: string): GenerationUuid | null {
  const [, uuid] = /^req_([0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15})$/.exec(requestId) ?? [];
  return uuid === undefined ? null : (uuid as GenerationUuid);
}
