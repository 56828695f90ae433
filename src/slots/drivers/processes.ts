import { type ChildProcess, spawn } from 'node:child_process';

/** A signal that the slots send; 0 only checks whether the process exists. */
export type SlotSignal = 'SIGTERM' | 'SIGKILL' | 0;

/** The process operations that the slots use. */
export interface Processes {
  /**
   * Starts `command` as the leader of its own session and process group, with fd 3 as a two-way
   * pipe to Naru.
   */
  spawn(
    command: string,
    args: readonly string[],
    options: { readonly env: Readonly<Record<string, string>>; readonly cwd: string },
  ): ChildProcess;
  /**
   * Signals a pid, or with a negative number its whole group; false when there was no such process.
   */
  kill(pid: number, signal: SlotSignal): boolean;
}

/** The real operating system; `kill` is that of the Node process object. */
export function createProcesses(kill: (pid: number, signal: SlotSignal) => void): Processes {
  return {
    spawn: (command, args, options) =>
      spawn(command, args, {
        ...options,
        env: { ...options.env },
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      }),
    kill(pid, signal) {
      try {
        kill(pid, signal);
        return true;
      } catch (thrown) {
        // EPERM: the process exists, but we may not signal it.
        return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM';
      }
    },
  };
}
