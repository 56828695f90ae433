import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createServer } from 'node:tls';

/** A certificate that is its own authority, as PEM, with its key and its file. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
  readonly file: string;
}

/** A certificate of these hosts, which is valid for so many days. */
export function makeCertificate(t: TestContext, days: number, ...hosts: readonly string[]): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'naru-certificate-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=localhost'];
  const names = ['localhost', ...hosts].map((host) => `DNS:${host}`).join();
  const files = ['-addext', `subjectAltName=${names}`, '-keyout', key, '-out', cert, '-days', String(days)];
  execFileSync('openssl', ['req', '-x509', ...kind, ...files], { stdio: 'ignore' });
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8'), file: cert };
}

/** The URL of a TLS server whose certificate, of its own, is valid for so many days. */
export async function startCertificateServer(t: TestContext, days: number): Promise<string> {
  const server = createServer(makeCertificate(t, days));
  server.on('tlsClientError', () => {});
  server.listen(0, 'localhost');
  await once(server, 'listening');
  t.after(() => server.close());
  return `https://localhost:${(server.address() as AddressInfo).port}`;
}
