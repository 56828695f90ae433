import { realpathSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * What is wrong with the rights of a configuration file, one sentence each: a user who can write it, or replace it in its folder, can run
 * commands as the user that Naru runs as. Empty when there is nothing to say, or no such file.
 */
export function rightsFaults(file: string, uid: number): readonly string[] {
  try {
    const real = realpathSync(file);
    const folder = dirname(real);
    return [
      ...faultsOf(real, statSync(real), uid),
      // A sticky folder such as /tmp lets nobody replace a file of somebody else.
      ...((statSync(folder).mode & 0o1000) === 0 ? faultsOf(folder, statSync(folder), uid) : []),
    ];
  } catch {
    return [];
  }
}

function faultsOf(path: string, stats: Stats, uid: number): readonly string[] {
  const { mode, uid: owner, gid } = stats;
  // Many systems give every user a group of its own with the same number, and let it write.
  const isGroupOpen = (mode & 0o020) !== 0 && gid !== owner;
  const who = (mode & 0o002) !== 0 ? 'every user of this machine' : isGroupOpen ? `the group ${gid}` : null;
  const found: string[] = [];
  if (who !== null)
    found.push(`${path} may be written by ${who}, who could run commands through it: chmod go-w ${path}`);
  if (owner !== uid && owner !== 0 && uid !== 0)
    found.push(`${path} belongs to the user ${owner}, who could run commands through it: chown it`);
  return found;
}
