/** Levels, least urgent first. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/**
 * The values of a log line. Objects are excluded, so that every logged field is chosen explicitly.
 */
export type LogFields = Readonly<Record<string, string | number | boolean | bigint | null | undefined>>;

/** One wide JSON line per event. Secrets are masked: see `redact`. */
export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

/** Where log lines go: one string, newline included, for each. */
export type LogSink = (line: string) => void;

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/**
 * A log that writes lines of `level` and above to `sink`; `now` is civil time in epoch
 * milliseconds.
 */
export function createLog(sink: LogSink, level: LogLevel, now: () => number): Log {
  const minRank = levels.indexOf(level);
  const at = (rank: number): Log['info'] =>
    rank < minRank
      ? () => {}
      : (event, fields) => {
          const head = `{"at":"${new Date(now()).toISOString()}","level":"${levels[rank]}","event":${JSON.stringify(event)}`;
          const rest = fields === undefined ? '{}' : JSON.stringify(withoutBigints(fields));
          const line = rest === '{}' ? `${head}}` : `${head},${rest.slice(1)}`;
          sink(`${escapeControls(redact(line))}\n`);
        };
  return { debug: at(0), info: at(1), warn: at(2), error: at(3) };
}

/** A log that writes nothing. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** A cause may be its own cause. */
const maxCauses = 5;

/** The message of anything thrown, with the messages of its causes, for a log line only. */
export function describeError(thrown: unknown, depth = 0): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const own = thrown.stack ?? `${thrown.name}: ${thrown.message}`;
  if (thrown.cause === undefined || depth === maxCauses) return own;
  return `${own}\ncaused by ${describeError(thrown.cause, depth + 1)}`;
}

/**
 * Masks everything that looks like a credential: 32 hex digits of a key, a bearer token, a password
 * inside a URL.
 */
export function redact(text: string): string {
  // Nearly every line has none of these; finding a fixed text costs a tenth of an expression.
  let safe = text;
  if (safe.includes('sk-')) safe = safe.replace(/\b(sk-[A-Za-z0-9_-]{0,24}?)[A-Za-z0-9]{20,}/g, '$1***');
  safe = safe.replace(/(bearer\s+)[^\s"\\]{8,}/gi, '$1***');
  if (safe.includes('://')) safe = safe.replace(/(:\/\/[^/:@\s"]*:)[^@/\s"]+@/g, '$1***@');
  return safe;
}

/**
 * Text without control characters: each is written as `\\uXXXX`, with the two that some readers
 * treat as the end of a line, and those that change the direction of the text around them. It
 * cannot control a terminal. Inside JSON it is the same text.
 */
export function escapeControls(text: string): string {
  return text.replace(control, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const control = /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;

/** JSON has no bigint. A replacer would be called for every member of every line. */
function withoutBigints(fields: LogFields): LogFields {
  for (const name in fields) {
    if (typeof fields[name] !== 'bigint') continue;
    const written: Record<string, LogFields[string]> = { ...fields };
    for (const each in written) if (typeof written[each] === 'bigint') written[each] = String(written[each]);
    return written;
  }
  return fields;
}
