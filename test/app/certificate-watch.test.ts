import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { CertificateWatch } from '../../src/http/certificate-watch.ts';
import { silentLog } from '../../src/log/log.ts';

function watchOf(publicUrl: string | null) {
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (event: string) => void warnings.push(event) };
  return { watch: new CertificateWatch(publicUrl, log), warnings };
}

async function plainServer(t: TestContext): Promise<string> {
  const server = createServer((socket) => socket.on('error', () => {}).end('no TLS'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('an address without TLS behind it is logged once and has no expiry', async (t) => {
  for (const url of [await plainServer(t), 'https://127.0.0.1:1', 'https://[::1]:1']) {
    const { watch, warnings } = watchOf(url);
    await watch.look();
    await watch.look();
    assert.deepEqual([watch.expiresAtMs, warnings], [null, ['certificate_unreadable']], url);
  }
});

test('without a public address, or without TLS, nothing is watched', async () => {
  for (const url of [null, 'http://127.0.0.1:1']) {
    const { watch, warnings } = watchOf(url);
    await watch.look();
    assert.deepEqual([watch.expiresAtMs, warnings], [null, []]);
  }
});
