/** A listening TCP socket. */
export interface InheritedSocket {
  readonly fd: number;
  readonly host: string;
  readonly port: number;
}

export function inheritedSocket(
  env: Readonly<Record<string, string | undefined>>,
  ownPid: number,
): { readonly socket: InheritedSocket | null; readonly trouble: string | null };
