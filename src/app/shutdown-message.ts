import { counted } from '../errors/counted.ts';

/** The line that a server prints when it begins to shut down. */
export function shutdownMessage(inFlight: number): string {
  if (inFlight === 0) return 'shutting down';
  return `shutting down: waiting for ${counted(inFlight, 'request')}; press Ctrl-C again to abort them`;
}
