import type { ChildProcess } from 'node:child_process';

export function arePagesBuilt(root: string): boolean;
export function buildPages(
  root: string,
  node: string,
  onChild?: (child: ChildProcess) => void,
): Promise<string | null>;
