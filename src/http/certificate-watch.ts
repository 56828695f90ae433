import { connect } from 'node:tls';
import { describeError, type Log } from '../log/log.ts';

const connectWithinMs = 10_000;

/**
 * When the certificate that an origin presents expires (milliseconds since 1970). The certificate is
 * not verified: also an expired one is read. Rejects when there is no TLS server.
 */
export function readCertificateExpiry(origin: string): Promise<number> {
  const { hostname, port } = new URL(origin);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve, reject) => {
    // A server name is a name, not an address.
    const name = /^[\d.]+$|:/.test(host) ? {} : { servername: host };
    const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false, ...name });
    socket.setTimeout(connectWithinMs, () => socket.destroy(new Error('no response')));
    socket.once('secureConnect', () => {
      const expiresAtMs = Date.parse(socket.getPeerCertificate().valid_to);
      socket.destroy();
      if (Number.isNaN(expiresAtMs)) reject(new Error('the server presents no certificate'));
      else resolve(expiresAtMs);
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the connection was closed')));
  });
}

/**
 * When the certificate at the public address expires, which a proxy in front of Naru presents.
 * Nobody sees a renewal that fails before that day.
 */
export class CertificateWatch {
  /** The public address; null: it is not encrypted, or not stated. */
  readonly origin: string | null;
  readonly #log: Log;
  #expiresAtMs: number | null = null;
  #isUnreadable = false;

  /** Of the dashboard or the console; without one, or without TLS, there is nothing to watch. */
  constructor(publicUrl: string | null, log: Log) {
    this.origin = publicUrl?.startsWith('https:') ? publicUrl : null;
    this.#log = log;
  }

  /** Null as long as it was not read. */
  get expiresAtMs(): number | null {
    return this.#expiresAtMs;
  }

  /**
   * Keeps what it read before when the address cannot be reached from here, and logs that once. Never
   * rejects.
   */
  async look(): Promise<void> {
    if (this.origin === null) return;
    try {
      this.#expiresAtMs = await readCertificateExpiry(this.origin);
      this.#isUnreadable = false;
    } catch (error) {
      if (!this.#isUnreadable)
        this.#log.warn('certificate_unreadable', { address: this.origin, detail: describeError(error) });
      this.#isUnreadable = true;
    }
  }
}
