import { type ChildProcess, spawn } from 'node:child_process';

/** A signal the slots send; 0 only asks whether there is anybody. */
export type SlotSignal = 'SIGTERM' | 'SIGKILL' | 0;

/** The machine's processes, as far as the slots touch them. */
export interface Processes {
  /** Starts `command` as the leader of its own session and process group, with fd 3 as a two-way pipe to Naru. */
  spawn(
    command: string,
    args: readonly string[],
    options: { readonly env: Readonly<Record<string, string>>; readonly cwd: string },
  ): ChildProcess;
  /** Signals a pid, or with a negative number its whole group; false when there was nobody to signal. */
  kill(pid: number, signal: SlotSignal): boolean;
}

/** The real machine; `kill` is the caller's `kill` of the Node process object. */
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
        // EPERM means that somebody is there, only not for us to signal.
        return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM';
      }
    },
  };
}
