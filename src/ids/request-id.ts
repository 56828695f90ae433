import { randomFillSync } from 'node:crypto';

const pool = Buffer.alloc(16 * 256);
let poolOffset = pool.length;

/** `req_<32 hex>`: names one request and all of its candidate attempts (service.md 7.1). Never taken from the client. */
export function newRequestId(): string {
  if (poolOffset === pool.length) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  poolOffset += 16;
  return `req_${pool.toString('hex', poolOffset - 16, poolOffset)}`;
}
