import { Socket } from 'node:net';

/** The first descriptor that systemd passes (sd_listen_fds(3)). */
const descriptor = 3;

/**
 * The listening socket that systemd, or another parent with its protocol, passed to the process
 * `ownPid`: its descriptor and address, or null; `trouble` is the reason why something that was
 * passed is ignored, else null.
 */
export function inheritedSocket({ LISTEN_PID: pid, LISTEN_FDS: count }, ownPid) {
  if (pid === undefined && count === undefined) return { socket: null, trouble: null };
  const ignored = (reason) => ({ socket: null, trouble: reason });
  if (pid !== String(ownPid))
    return ignored(`LISTEN_PID is ${JSON.stringify(pid ?? '')}, and this is process ${ownPid}`);
  if (count !== '1')
    return ignored(`LISTEN_FDS is ${JSON.stringify(count ?? '')}, and Naru listens on one socket`);
  const address = addressOf(descriptor);
  if (address === null) return ignored(`descriptor ${descriptor} is no TCP socket`);
  return { socket: { fd: descriptor, host: address.address, port: address.port }, trouble: null };
}

/** The address of a TCP socket; null: the descriptor is none. */
function addressOf(fd) {
  try {
    const address = new Socket({ fd, readable: false, writable: false }).address();
    return 'port' in address ? address : null;
  } catch {
    return null;
  }
}
