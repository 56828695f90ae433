import { lstatSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ServerUser } from './server-user.ts';

/**
 * The first folder on the way to `path`, itself included, that `user` may not enter; null when the
 * user can reach it.
 */
export function barrier(path: string, user: ServerUser): string | null {
  for (const folder of wayTo(path)) if (!mayEnter(statSync(folder), user)) return folder;
  return null;
}

/**
 * Whether only `uid` and root can write at `path`: it is a real folder of ours that no other user
 * may write to, and no other user may rename a folder above it. In a sticky folder like /tmp users
 * can change only what they own. An ordinary user's own folders may be writable to a group: with
 * the umask 002 of many systems they are, and the group has that user alone.
 */
export function onlyOursToWrite(path: string, uid: number): boolean {
  const own = lstatSync(path);
  if (!own.isDirectory() || own.uid !== uid || (own.mode & 0o022) !== 0) return false;
  return wayTo(dirname(path)).every((folder) => {
    const stat = statSync(folder);
    const forbidden = uid === 0 ? 0o022 : 0o002;
    return (
      (stat.uid === uid || stat.uid === 0) && ((stat.mode & forbidden) === 0 || (stat.mode & 0o1000) !== 0)
    );
  });
}

function mayEnter(stat: Stats, user: ServerUser): boolean {
  if (stat.uid === user.uid) return (stat.mode & 0o100) !== 0;
  if (stat.gid === user.gid) return (stat.mode & 0o010) !== 0;
  return (stat.mode & 0o001) !== 0;
}

function wayTo(path: string): readonly string[] {
  const above = dirname(path);
  return above === path ? [path] : [...wayTo(above), path];
}
