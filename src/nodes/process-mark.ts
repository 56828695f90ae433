import { readFileSync, readlinkSync } from 'node:fs';

/**
 * The state of a process by its mark: `unknown` when it is of another machine or container, or the
 * system does not report it.
 */
export type ProcessState = 'dead' | 'alive' | 'unknown';

/** The mark of this process, and the state of others: null where the system does not report it. */
export interface ProcessMarks {
  readonly own: string;
  stateOf(mark: string): ProcessState;
}

/**
 * The marks of Linux: the boot of the machine, the namespace of process ids, the id and the start
 * of the process. A mark of the same boot and namespace whose process is gone is certainly dead;
 * for any other only its lease decides. Other systems report nothing.
 */
export function systemProcessMarks(): ProcessMarks {
  const space = spaceOf();
  const pid = space === null ? null : readOr(() => readlinkSync('/proc/self'));
  const born = pid === null ? null : bornOf(pid);
  const own = born === null ? '' : `${space} ${pid} ${born}`;
  return {
    own,
    stateOf(mark) {
      const [boot, namespace, id = '', start] = mark.split(' ');
      if (own === '' || `${boot} ${namespace}` !== space || !/^\d+$/.test(id)) return 'unknown';
      return bornOf(id) === start ? 'alive' : 'dead';
    },
  };
}

function spaceOf(): string | null {
  const boot = readOr(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  const namespace = readOr(() => readlinkSync('/proc/self/ns/pid'));
  return boot === null || namespace === null ? null : `${boot} ${namespace}`;
}

/** When a process started, in ticks since the boot; null when there is none, or only a zombie. */
function bornOf(pid: string): string | null {
  const stat = readOr(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The program's name may hold spaces and brackets.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
}

function readOr(read: () => string): string | null {
  try {
    return read();
  } catch {
    return null;
  }
}
