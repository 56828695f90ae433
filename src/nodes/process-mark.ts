import { identify, processSpace, stillRuns } from '../store/process-identity.ts';

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
  const space = processSpace();
  const self = identify('self');
  const own = space === null || self === null ? '' : `${space} ${self.pid} ${self.born}`;
  return {
    own,
    stateOf(mark) {
      const [boot, namespace, pid = '', born = ''] = mark.split(' ');
      if (own === '' || `${boot} ${namespace}` !== space || !/^\d+$/.test(pid)) return 'unknown';
      return stillRuns({ pid: Number(pid), born }) ? 'alive' : 'dead';
    },
  };
}
