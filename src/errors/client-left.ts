/** The client has left: there is nobody to answer. */
export class ClientLeft extends Error {
  override readonly name = 'ClientLeft';
}
