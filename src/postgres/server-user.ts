import { readFileSync, statSync } from 'node:fs';
import { EmbeddedError } from './errors.ts';

/** A user of this machine that PostgreSQL runs as. */
export interface ServerUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * The user that PostgreSQL has to run as when Naru runs as `uid`: null means as Naru itself.
 * PostgreSQL refuses root, so root drops to the owner of the existing cluster, else to `postgres`
 * or `nobody` (initdb requires an entry in /etc/passwd). Throws when the cluster's owner makes it
 * unusable, or when there is no user to drop to.
 */
export function serverUser(uid: number, clusterDir: string): ServerUser | null {
  const owner = statSync(clusterDir, { throwIfNoEntry: false });
  if (uid !== 0) {
    if (owner !== undefined && owner.uid !== uid)
      throw new EmbeddedError(
        `the database in ${clusterDir} belongs to ${nameOf(owner.uid)}: run Naru as root or as that user`,
      );
    return null;
  }
  const users = readPasswd();
  if (owner !== undefined) {
    if (owner.uid === 0)
      throw new EmbeddedError(
        `the database in ${clusterDir} belongs to root, and PostgreSQL refuses root: chown -R it to postgres or nobody`,
      );
    const known = users.find((user) => user.uid === owner.uid);
    return known ?? { name: `uid ${owner.uid}`, uid: owner.uid, gid: owner.gid };
  }
  for (const name of ['postgres', 'nobody']) {
    const user = users.find((each) => each.name === name && each.uid !== 0);
    if (user !== undefined) return user;
  }
  throw new EmbeddedError(
    'PostgreSQL refuses to run as root, and this machine has neither a user postgres nor nobody: run Naru as an ordinary user, or set database.url',
  );
}

function readPasswd(): readonly ServerUser[] {
  let text = '';
  try {
    text = readFileSync('/etc/passwd', 'utf8');
  } catch {
    // A machine without the file has no user names.
  }
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    if (name === undefined || !/^\d+$/.test(uid ?? '') || !/^\d+$/.test(gid ?? '')) return [];
    return [{ name, uid: Number(uid), gid: Number(gid) }];
  });
}

function nameOf(uid: number): string {
  return readPasswd().find((user) => user.uid === uid)?.name ?? `uid ${uid}`;
}
