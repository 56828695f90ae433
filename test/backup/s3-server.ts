import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A process of S3rver, with one bucket; it knows the access key S3RVER with the secret S3RVER. */
export interface S3Server {
  readonly endpoint: string;
  readonly port: number;
  readonly bucket: string;
  stop(): Promise<void>;
}

/** Starts the server on a free port. */
export async function startS3Server(): Promise<S3Server> {
  const directory = mkdtempSync(join(tmpdir(), 'naru-s3-'));
  const child: ChildProcess = spawn(
    process.execPath,
    [join(import.meta.dirname, 's3-process.mjs'), directory],
    {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    },
  );
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout?.on('data', (text: Buffer) => resolve(Number(text.toString())));
    void ended.then(() => reject(new Error('the S3 server ended')));
  });
  return {
    endpoint: `http://127.0.0.1:${port}`,
    port,
    bucket: 'backups',
    async stop() {
      child.kill();
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A proxy before a server that resets connections. */
export interface Cutter {
  readonly endpoint: string;
  /** After `skip` more connections, so many are reset after `afterBytes` of the client. */
  cut(connections: number, afterBytes: number, skip?: number): void;
  close(): Promise<void>;
}

/** Starts a proxy that passes everything until it is told to cut. */
export async function startCutter(port: number): Promise<Cutter> {
  const sockets = new Set<Socket>();
  let toCut = 0;
  let cutAfter = 0;
  let toSkip = 0;
  const server = createServer((client) => {
    const isCut = toSkip === 0 && toCut > 0;
    const limit = isCut ? cutAfter : Number.POSITIVE_INFINITY;
    if (isCut) toCut -= 1;
    toSkip = Math.max(0, toSkip - 1);
    let bytes = 0;
    const upstream = dial(port, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (piece) => {
      bytes += piece.length;
      if (bytes >= limit) client.resetAndDestroy();
      else upstream.write(piece);
    });
    upstream.pipe(client);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut(connections, afterBytes, skip = 0) {
      toCut = connections;
      cutAfter = afterBytes;
      toSkip = skip;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}
