/** The line that a server prints when it begins to shut down. */
export function shutdownMessage(inFlight: number): string {
  if (inFlight === 0) return 'shutting down';
  const requests = inFlight === 1 ? '1 request' : `${inFlight} requests`;
  return `shutting down: waiting for ${requests}; press Ctrl-C again to abort them`;
}
