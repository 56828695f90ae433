/** The request was aborted from outside: all its waits must end, and no upstream is at fault. */
export class RequestAborted extends Error {
  override readonly name: string = 'RequestAborted';
}

/** The client disconnected. */
export class ClientDisconnected extends RequestAborted {
  override readonly name = 'ClientDisconnected';
}

/** The server is stopping and the drain time is over. */
export class ServerStopping extends RequestAborted {
  override readonly name = 'ServerStopping';
}
