import { readFileSync, readlinkSync } from 'node:fs';
import { Socket } from 'node:net';

/** The first descriptor that systemd passes (sd_listen_fds(3)). */
const descriptor = 3;
/** The state of a listening socket in /proc/net/tcp. */
const listening = '0A';

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
  if (!isListening(descriptor)) return ignored(`descriptor ${descriptor} is no TCP socket that listens`);
  const { address: host, port } = new Socket({ fd: descriptor, readable: false, writable: false }).address();
  return { socket: { fd: descriptor, host, port }, trouble: null };
}

function isListening(fd) {
  try {
    const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`)) ?? [];
    return ['tcp', 'tcp6'].some((name) =>
      readFileSync(`/proc/self/net/${name}`, 'utf8')
        .split('\n')
        .map((line) => line.trim().split(/\s+/))
        .some((fields) => fields[3] === listening && fields[9] === inode),
    );
  } catch {
    return false;
  }
}
