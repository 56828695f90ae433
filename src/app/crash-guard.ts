import type { Log } from '../log/log.ts';
import type { Clock } from '../time/clock.ts';
import type { ProcessContext } from './process-context.ts';

/** The exit code of a process that ended because of an error that nothing caught (EX_SOFTWARE of sysexits.h). */
const crashExitCode = 70;
/** That of a process that ends because memory is not true to the database any more (EX_TEMPFAIL). */
const restartExitCode = 75;
/** How long a process may take to end beyond the drain. Settling has 3 s. */
const endWithinMs = 10_000;
/** An error in a timer repeats: the first ones say what there is to say. */
const maxLogged = 20;
const maxFrames = 20;
/** A cause may be its own cause. */
const maxCauses = 5;

/** What a server does about an error that nothing caught. */
export interface CrashGuardParts {
  readonly proc: Pick<ProcessContext, 'onUncaught' | 'exit'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Writes what the log has gathered. */
  readonly flush: () => void;
  /** What the requests in flight get, milliseconds. */
  readonly drainMs: () => number;
  /** Begins to stop the server: new connections are refused, requests in flight end. */
  readonly stop: () => void;
  /** Cuts the requests that are still in flight. */
  readonly cut: () => void;
}

/**
 * The last line of defence of a process that serves. An error that nothing caught is logged, the server stops as it does on SIGTERM,
 * but within a shorter time, and the process ends with exit code 70: its supervisor starts another. If stopping hangs as well, the
 * process ends at once.
 */
export function guardAgainstCrash(parts: CrashGuardParts): {
  /** The exit code of the process if it stopped now. */
  readonly exitCode: () => number;
  /** Ends the process in the same way for another process to take over; what it is for was logged. Works once. */
  readonly restart: () => void;
  /** Errors that nothing caught end the process again. */
  readonly release: () => void;
} {
  const { proc, clock, log, flush } = parts;
  let seen = 0;
  let exitCode = 0;
  const end = (code: number): void => {
    const isFirst = exitCode === 0;
    if (exitCode !== crashExitCode) exitCode = code;
    if (!isFirst) return;
    const drainMs = parts.drainMs();
    clock.after(drainMs, parts.cut);
    clock.after(drainMs + endWithinMs, () => {
      log.error('stop_timed_out', { after_ms: drainMs + endWithinMs });
      flush();
      proc.exit(exitCode);
    });
    parts.stop();
  };
  const release = proc.onUncaught((error, origin) => {
    seen += 1;
    if (seen <= maxLogged) {
      log.error('uncaught_error', { origin, detail: describeUncaught(error) });
      flush();
    }
    end(crashExitCode);
  });
  return { exitCode: () => exitCode, restart: () => end(restartExitCode), release };
}

/**
 * What an error says, without what it quotes: messages of parsers and databases quote their input, which may be a prompt or a
 * credential. The frames of the stack say where it came from.
 */
function describeUncaught(thrown: unknown, depth = 0): string {
  if (!(thrown instanceof Error)) return `a value of type ${typeof thrown} was thrown`;
  const { name, message, stack = '', cause } = thrown;
  const code = 'code' in thrown && typeof thrown.code === 'string' ? ` (${thrown.code})` : '';
  const unquoted = message.slice(0, 500).replace(/"[^"]*"?|'[^']*'?|`[^`]*`?/g, '…');
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  const own = [`${name}${code}: ${unquoted}`, ...frames.slice(0, maxFrames)].join('\n');
  if (cause === undefined || depth === maxCauses) return own;
  return `${own}\ncaused by ${describeUncaught(cause, depth + 1)}`;
}
