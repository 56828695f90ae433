import { echoed } from '../errors/messages.ts';

/**
 * One error in the configuration file. Line and column count from 1; a column is a UTF-16 unit, as
 * in editors.
 */
export interface Fault {
  readonly line: number;
  readonly column: number;
  /** `models[0].price.prompt`; empty for the file as a whole. */
  readonly path: string;
  readonly message: string;
}

/** The location of a value in the file, from the root. */
export type Path = readonly (string | number)[];

/** `models[0].price.prompt`; a name that is not a plain word is quoted: `slots[0].env["A B"]`. */
export function pathText(path: Path): string {
  return path.map(stepText).join('').replace(/^\./, '');
}

/** The line that an operator reads: `naru.yaml:12:7 models[0].price.prompt: is missing`. */
export function faultText(file: string, fault: Fault): string {
  const where = `${file}:${fault.line}:${fault.column}`;
  const [path, message] = [echoed(fault.path), echoed(fault.message)];
  return path === '' ? `${where} ${message}` : `${where} ${path}: ${message}`;
}

function stepText(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`;
  return /^[A-Za-z_][\w-]*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
}
