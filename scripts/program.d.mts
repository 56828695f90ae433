import type { ChildProcess } from 'node:child_process';

export function isRelease(root: string): boolean;
export function programOf(root: string): string | null;
export function removeOldBuilds(home: string): void;
export function buildProgram(
  root: string,
  node: string,
  onChild?: (child: ChildProcess) => void,
): Promise<string | null>;
