import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../errors/operator-error.ts';
import { type ControlCall, ControlUnreachable, callControl } from '../http/control/call.ts';
import { stillRuns } from '../store/process-identity.ts';
import { systemClock } from '../time/clock.ts';

/** No server is running: some commands then work without one. */
class NoServer extends OperatorError {}

/**
 * The response of the server of a data directory over its control socket; throws an `OperatorError`
 * when there is none.
 */
export async function callServer(dataDir: string, call: ControlCall): Promise<unknown> {
  try {
    const { status, body } = await callControl(dataDir, call, systemClock);
    if (status === 200) return body;
    const { error } = body as { readonly error?: unknown };
    throw new OperatorError(typeof error === 'string' ? error : `the server responded with status ${status}`);
  } catch (thrown) {
    throw await explained(thrown, dataDir);
  }
}

/** Whether `askServer` threw this because no server uses the data directory. */
export async function serverIsAway(thrown: unknown, dataDir: string): Promise<boolean> {
  return thrown instanceof NoServer && (await serverOf(dataDir)) === null;
}

/**
 * Turns a failure to reach the server into a message with a remedy; returns any other error
 * unchanged.
 */
async function explained(thrown: unknown, dataDir: string): Promise<unknown> {
  if (!(thrown instanceof ControlUnreachable)) return thrown;
  const server = await serverOf(dataDir);
  switch (thrown.why) {
    case 'denied':
      return new OperatorError(
        `no permission to connect to the server of ${dataDir} (${thrown.message}): run this command as the user that runs the server`,
      );
    case 'silent':
      return new OperatorError(`the server of ${dataDir} did not respond: ${thrown.message}`);
    case 'none':
      if (server === null)
        return new NoServer(
          `no server is running on ${dataDir}: start one with naru up, or pass its data directory with --data-dir`,
        );
      return new OperatorError(
        `cannot reach the server of ${dataDir} (${server}): it is starting or stopping, or its control socket failed (see its log)`,
      );
  }
}

/** A description of the server that holds the data directory; null when none is visible. */
async function serverOf(dataDir: string): Promise<string | null> {
  try {
    const holder: { readonly pid: number; readonly born: string; readonly describe: string } = JSON.parse(
      readFileSync(join(dataDir, 'naru.lock.json'), 'utf8'),
    );
    return stillRuns(holder) && holder.describe.startsWith('naru up') ? `process ${holder.pid}` : null;
  } catch {
    return null;
  }
}
