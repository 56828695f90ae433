/** A request was given up from outside: whatever waits in it must end, and no upstream is to blame. */
export class RequestAborted extends Error {
  override readonly name: string = 'RequestAborted';
}

/** The client has left: there is nobody to answer. */
export class ClientDisconnected extends RequestAborted {
  override readonly name = 'ClientDisconnected';
}

/** The server stops and cannot wait any longer. */
export class ServerStopping extends RequestAborted {
  override readonly name = 'ServerStopping';
}
