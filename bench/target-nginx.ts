import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../test/harness/free-port.ts';
import { startChild, TARGET_CORE } from './child.ts';
import { type Ground, plainRequest, type Target } from './target.ts';
import { untilConnectable } from './until-connectable.ts';

/** Debian's path first: a user's PATH often has no /usr/sbin. */
const binary = ['/usr/sbin/nginx', '/usr/bin/nginx', '/usr/local/sbin/nginx', '/usr/local/bin/nginx'].find(
  (path) => existsSync(path),
);

/** How to install a missing nginx; null when it is installed. */
export const nginxFault =
  binary === undefined ? 'nginx is missing: apt-get install nginx (or --only direct,floor,naru)' : null;

/**
 * A bare `proxy_pass` with kept upstream connections and one worker: what a proxy without any logic
 * costs.
 */
export async function nginxTarget({ upstreamPort, directory }: Ground): Promise<Target> {
  const port = await freePort();
  const config = join(directory, 'nginx.conf');
  writeFileSync(config, nginxConfig(port, upstreamPort, directory));
  const child = await startChild({
    name: 'nginx',
    command: [binary ?? 'nginx', '-p', directory, '-e', join(directory, 'nginx.log'), '-c', config],
    core: TARGET_CORE,
    ready: null,
    limitMs: 10_000,
  });
  await untilConnectable(port, 10_000);
  return {
    name: 'nginx',
    pid: child.pid,
    jobOf: (workload, bodyBytes) => plainRequest(port, workload, bodyBytes),
    verify: async () => [],
    stop: child.stop,
  };
}

/**
 * Buffering is off, as in every proxy in front of a stream; the limits on requests a connection are
 * lifted.
 */
function nginxConfig(port: number, upstreamPort: number, directory: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
daemon off;
worker_processes 1;
${process.getuid?.() === 0 ? 'user root;' : ''}
pid ${directory}/nginx.pid;
events { worker_connections 16384; }
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${directory}/${name};`).join('\n  ')}
  upstream scripted { server 127.0.0.1:${upstreamPort}; keepalive 128; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    keepalive_requests 1000000000;
    location / {
      proxy_pass http://scripted;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`;
}
