import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** The options of the server. */
export interface Options {
  readonly host: string;
  /** 0 selects a free port, which the ready line shows. */
  readonly port: number;
  /** The number of concurrent generations; further requests wait. */
  readonly parallel: number;
  readonly modelPath: string;
  /** A delay before loading, to simulate a slow model. */
  readonly startDelayMs: number;
}

/** The usage line for `--help` and invalid options. */
export const usage =
  'usage: node demo-engine/server.ts --port N [--host 127.0.0.1] [--parallel 4] [--model-path FILE] [--start-delay-ms 0]';

/** Parses the command line. Throws an error that names the fault. */
export function optionsOf(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      port: { type: 'string' },
      host: { type: 'string', default: '127.0.0.1' },
      parallel: { type: 'string', default: '4' },
      'model-path': {
        type: 'string',
        default: fileURLToPath(new URL('./model/naru-demo.gguf', import.meta.url)),
      },
      'start-delay-ms': { type: 'string', default: '0' },
    },
  });
  return {
    host: values.host,
    port: wholeNumber('--port', values.port ?? '', 0, 65_535),
    parallel: wholeNumber('--parallel', values.parallel, 1, 64),
    modelPath: values['model-path'],
    startDelayMs: wholeNumber('--start-delay-ms', values['start-delay-ms'], 0, 3_600_000),
  };
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new Error(`${name} must be a whole number from ${least} to ${most}, not "${text}"`);
}
