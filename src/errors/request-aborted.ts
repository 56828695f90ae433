/** A request was given up from outside: whatever waits in it must end, and no upstream is to blame. */
export class GivenUp extends Error {
  override readonly name: string = 'GivenUp';
}

/** The client has left: there is nobody to answer. */
export class ClientLeft extends GivenUp {
  override readonly name = 'ClientLeft';
}

/** The server stops and cannot wait any longer. */
export class ServerStopping extends GivenUp {
  override readonly name = 'ServerStopping';
}
