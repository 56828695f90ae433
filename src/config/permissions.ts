import { realpathSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * The faults of the permissions of a configuration file, one sentence each: a user who can write
 * it, or replace it in its folder, can run commands as the user of Naru. Empty when there are none
 * or the file does not exist.
 */
export function rightsFaults(file: string, uid: number): readonly string[] {
  try {
    const real = realpathSync(file);
    const folder = dirname(real);
    return [
      ...faultsOf(real, statSync(real), uid),
      // In a sticky folder such as /tmp no user can replace a file of another user.
      ...((statSync(folder).mode & 0o1000) === 0 ? faultsOf(folder, statSync(folder), uid) : []),
    ];
  } catch {
    return [];
  }
}

function faultsOf(path: string, stats: Stats, uid: number): readonly string[] {
  const { mode, uid: owner, gid } = stats;
  // Many systems give every user a private group with the same number and let it write.
  const isGroupOpen = (mode & 0o020) !== 0 && gid !== owner;
  const who = (mode & 0o002) !== 0 ? 'every user' : isGroupOpen ? `group ${gid}` : null;
  const found: string[] = [];
  if (who !== null)
    found.push(`${path} is writable by ${who}, who could run commands through it: run chmod go-w ${path}`);
  if (owner !== uid && owner !== 0 && uid !== 0)
    found.push(`${path} is owned by user ${owner}, who could run commands through it: run chown on it`);
  return found;
}
