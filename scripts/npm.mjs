// Used by the launcher, so it runs on the machine's own Node (18 or later).
import { basename } from 'node:path';

/** The command that runs npm: the npm that runs this process, else the one on PATH. */
export function npmCommand() {
  const own = process.env.npm_execpath ?? '';
  return basename(own) === 'npm-cli.js' ? [process.execPath, own] : ['npm'];
}
