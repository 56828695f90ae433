import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ControlCall, ControlUnreachable, callControl } from '../control/call.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { identify } from '../postgres/process-identity.ts';
import { systemClock } from '../time/clock.ts';

/** No server runs: the one condition under which some commands do without. */
class NoServer extends OperatorError {}

/** What the server of a data directory answers over its control socket; throws a `OperatorError` for whatever keeps it from answering. */
export async function askServer(dataDir: string, call: ControlCall): Promise<unknown> {
  try {
    const { status, body } = await callControl(dataDir, call, systemClock);
    if (status === 200) return body;
    const { error } = body as { readonly error?: unknown };
    throw new OperatorError(typeof error === 'string' ? error : `the server answers ${status}`);
  } catch (thrown) {
    throw await explained(thrown, dataDir);
  }
}

/** Whether `askServer` threw this because no server has the data directory. */
export async function serverIsAway(thrown: unknown, dataDir: string): Promise<boolean> {
  return thrown instanceof NoServer && (await serverOf(dataDir)) === null;
}

/** Turns the trouble of reaching a server into words with a remedy; any other error stays as it is. */
async function explained(thrown: unknown, dataDir: string): Promise<unknown> {
  if (!(thrown instanceof ControlUnreachable)) return thrown;
  const server = await serverOf(dataDir);
  switch (thrown.why) {
    case 'denied':
      return new OperatorError(
        `this user may not ask the server of ${dataDir} (${thrown.message}): run this as the user who runs the server`,
      );
    case 'silent':
      return new OperatorError(`the server of ${dataDir} did not answer: ${thrown.message}`);
    case 'none':
      if (server === null)
        return new NoServer(
          `no server runs on ${dataDir}: start it with naru up, or name its data directory with --data-dir`,
        );
      return new OperatorError(
        `the server of ${dataDir} (${server}) cannot be asked: it is starting or stopping, or its log says why it has no control socket`,
      );
  }
}

/** The server that has the data directory now, in its own words; null when there is none that can be seen. */
async function serverOf(dataDir: string): Promise<string | null> {
  try {
    const holder: { readonly pid: number; readonly born: string; readonly describe: string } = JSON.parse(
      readFileSync(join(dataDir, 'naru.lock.json'), 'utf8'),
    );
    const isAlive = (await identify(holder.pid))?.born === holder.born;
    return isAlive && holder.describe.startsWith('naru up') ? `process ${holder.pid}` : null;
  } catch {
    return null;
  }
}
