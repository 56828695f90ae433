import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config, SlotSettings } from '../config/config.ts';
import { which } from '../postgres/run-command.ts';

/** Why the program of a slot cannot be run; null when it can, or when Naru runs none. */
export function programFault({ driver }: SlotSettings): string | null {
  if (driver.kind !== 'process') return null;
  const [program = ''] = driver.command;
  if (!program.includes('/'))
    return which(program, driver.env) === null ? `program ${program} not found on PATH` : null;
  const file = resolve(driver.cwd, program);
  try {
    if (!statSync(file).isFile()) return `program ${file} is not a file`;
    accessSync(file, constants.X_OK);
    return null;
  } catch (error) {
    const isDenied = (error as NodeJS.ErrnoException).code === 'EACCES';
    return isDenied ? `program ${file} is not executable: run chmod +x on it` : `program ${file} not found`;
  }
}

/** The slots whose program cannot be run on this machine, one sentence each. */
export function programFaults({ slots }: Config): readonly string[] {
  return slots.flatMap((slot) => {
    const fault = programFault(slot);
    return fault === null ? [] : [`slot ${slot.name}: ${fault}`];
  });
}
