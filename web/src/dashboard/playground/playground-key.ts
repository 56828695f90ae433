import { change, read } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';
import { onSignOut } from '../../app/sign-out.ts';
import { replaceKey } from '../keys/key.ts';

/** What a new key of the playground may spend in a month: 10,000 won. The list of keys can change it. */
const defaultLimitMicro = '10000000000';
const prefix = 'naru.playground.';

/** The key exists and its owner or an operator switched it off. */
export class KeyOff extends Error {
  override readonly name = 'KeyOff';
}

// A signed-out tab keeps no key.
onSignOut(() => {
  plaintexts.clear();
  for (const name of keysOf('sessionStorage')) write('sessionStorage', name, null);
});

/** What this tab knows also where storage is blocked. */
const plaintexts = new Map<string, string>();

/**
 * The plaintext of the account's key in this tab. A tab keeps it until it closes. The browser keeps
 * only the hash, so that another tab or a later visit replaces the same key instead of adding one:
 * the new key has the name and the limit of the old one, which is revoked.
 */
export async function playgroundKey(accountId: number, name: string): Promise<string> {
  const place = prefix + accountId;
  return plaintexts.get(place) ?? take('sessionStorage', place) ?? renewKey(accountId, name);
}

/** Replaces the key: this tab has none, another tab replaced it, or it was revoked. */
export async function renewKey(accountId: number, name: string): Promise<string> {
  const place = prefix + accountId;
  const hash = take('localStorage', place);
  const known = hash === null ? null : await readKey(hash);
  const isUsable = known !== null && known.standing !== 'revoked' && known.standing !== 'expired';
  if (isUsable && (known.standing === 'switched_off' || known.standing === 'suspended_by_admin'))
    throw new KeyOff();
  let created = isUsable
    ? await replaceKey(known.hash)
    : await change('POST /dashboard/api/keys', {
        body: { kind: 'inference', name, limit_micro: defaultLimitMicro, limit_reset: 'monthly' },
      });
  // The response with the plaintext was lost on its way.
  if (created.key === null) created = await replaceKey(created.data.hash);
  write('localStorage', place, created.data.hash);
  const plaintext = created.key;
  if (plaintext === null) throw new ApiError({ status: 0, type: 'unreachable' });
  write('sessionStorage', place, plaintext);
  plaintexts.set(place, plaintext);
  // The old key has ended; the list need not show it.
  if (known?.standing === 'expired')
    await change('DELETE /dashboard/api/keys/{hash}', { params: { hash: known.hash } }).catch(
      () => undefined,
    );
  return plaintext;
}

async function readKey(hash: string) {
  try {
    return await read('GET /dashboard/api/keys/{hash}', { params: { hash } });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

type Place = 'localStorage' | 'sessionStorage';

/** Storage may be blocked: then nothing is there. */
function take(place: Place, name: string): string | null {
  try {
    return window[place].getItem(name);
  } catch {
    return null;
  }
}

function write(place: Place, name: string, value: string | null): void {
  try {
    if (value === null) window[place].removeItem(name);
    else window[place].setItem(name, value);
  } catch {
    // The key lasts until the page closes.
  }
}

function keysOf(place: Place): readonly string[] {
  try {
    return Object.keys(window[place]).filter((name) => name.startsWith(prefix));
  } catch {
    return [];
  }
}
