import { change, type ResponseOf } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';

/** A key, as the API sends it. */
export type KeyRow = ResponseOf<'GET /dashboard/api/keys'>['items'][number];
export type KeyKind = KeyRow['kind'];
export type LimitReset = KeyRow['limit_reset'];

export const limitResets = ['never', 'daily', 'weekly', 'monthly'] as const;

/** What one page of keys reads. */
export const keysQueryKey = ['GET /dashboard/api/keys'] as const;

/** Whether a change was refused because the key was revoked meanwhile: its row goes, and its dialog with it. */
export function isRevokedMeanwhile(error: Error): boolean {
  return error instanceof ApiError && error.type === 'conflict';
}

/** A new key with the settings of one, which is revoked. */
export async function replaceKey(hash: string): Promise<ResponseOf<'POST /dashboard/api/keys'>> {
  const params = { hash };
  const created = await change('POST /dashboard/api/keys/{hash}/rotate', { params, body: {} });
  // The old key has ended; the list need not show it.
  await change('DELETE /dashboard/api/keys/{hash}', { params }).catch(() => undefined);
  return created;
}
