import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { serveControl } from '../../src/http/control/serve.ts';
import { silentLog } from '../../src/log/log.ts';
import { tempDir } from '../harness/fake-engine.ts';

// security:39
test('no request target on the control socket ends the server', async (t) => {
  const server = await serveControl({
    dataDir: tempDir(),
    roots: [],
    respond: async (_method, path) => ({ status: 200, body: path }),
    log: silentLog,
  });
  assert.ok(server !== null);
  t.after(() => server.close());
  const request = (target: string): Promise<string> =>
    new Promise((resolve, reject) => {
      let output = '';
      const socket = connect(server.path).setEncoding('utf8');
      socket
        .on('data', (text) => (output += text))
        .on('close', () => resolve(output))
        .on('error', reject);
      socket.write(`GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    });
  for (const target of ['//', 'http://[', 'http://a:99999/', '//[::1', '/%', '*'])
    assert.match(await request(target), /^HTTP\/1\.1 (200|400) /, target);
  assert.match(await request('/slots'), /\["slots"\]/);
});
