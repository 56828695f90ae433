import type { Log } from '../log/log.ts';
import type { Clock } from '../time/clock.ts';
import type { ProcessContext } from './process-context.ts';

/**
 * The exit code of a process that ended because of an uncaught error (EX_SOFTWARE of sysexits.h).
 */
const crashExitCode = 70;
/**
 * The exit code of a process whose embedded database ended, or whose memory no longer matches its
 * database (EX_TEMPFAIL).
 */
const restartExitCode = 75;
/** How long a process may take to end after the drain. Settling has 3 s. */
const endWithinMs = 10_000;
/** An error in a timer repeats; the first ones are enough. */
const maxLogged = 20;
const maxFrames = 20;
/** A cause may be its own cause. */
const maxCauses = 5;

/** The parts of the crash guard. */
export interface CrashGuardParts {
  readonly proc: Pick<ProcessContext, 'onUncaught' | 'onWarning' | 'exit'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Writes the buffered log lines. */
  readonly flush: () => void;
  /** The drain time of requests in flight, milliseconds. */
  readonly drainMs: () => number;
  /** Starts the shutdown: rejects new connections and drains requests in flight. */
  readonly stop: () => void;
  /** Aborts the requests that are still in flight. */
  readonly cut: () => void;
}

/**
 * Logs the warnings of Node, and handles uncaught errors of a serving process: logs the error, shuts down as on SIGTERM but with a
 * shorter drain, and exits with code 70, so that the supervisor starts a new process. If the
 * shutdown hangs, the process exits anyway.
 */
export function guardAgainstCrash(parts: CrashGuardParts): {
  /** The exit code of the process if it stopped now. */
  readonly exitCode: () => number;
  /**
   * Ends the process in the same way so that its supervisor replaces it; the caller has logged the
   * reason. Works once.
   */
  readonly restart: () => void;
  /** Unsubscribes: uncaught errors end the process again. */
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
  const ignoreWarnings = proc.onWarning((warning) =>
    log.warn('node_warning', { detail: describeUncaught(warning) }),
  );
  const ignoreErrors = proc.onUncaught((error, origin) => {
    seen += 1;
    if (seen <= maxLogged) {
      log.error('uncaught_error', { origin, detail: describeUncaught(error) });
      flush();
    }
    end(crashExitCode);
  });
  const release = (): void => {
    ignoreWarnings();
    ignoreErrors();
  };
  return { exitCode: () => exitCode, restart: () => end(restartExitCode), release };
}

/**
 * Describes an error without quoted text: messages of parsers and databases quote their input,
 * which may be a prompt or a credential. The stack frames show the origin.
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
