/**
 * `npm run web:dev`: both applications with live reload, on a server that runs beside
 * (`npm start`). The dashboard is at http://127.0.0.1:5173/dashboard/, the console at
 * http://127.0.0.1:5174/console/. `NARU_URL` and `NARU_CONSOLE_URL` name other servers.
 */
import { createServer } from 'vite';
import { type Entry, entries, viteConfig } from './vite.ts';

const servers: Readonly<Record<Entry, { readonly port: number; readonly target: string }>> = {
  dashboard: { port: 5173, target: process.env['NARU_URL'] ?? 'http://127.0.0.1:8787' },
  console: { port: 5174, target: process.env['NARU_CONSOLE_URL'] ?? 'http://127.0.0.1:8788' },
};

for (const entry of entries) {
  const { port, target } = servers[entry];
  const config = viteConfig(entry);
  // The server accepts a change from its own origin only.
  const proxy = { target, headers: { origin: target } };
  const server = await createServer({
    ...config,
    server: {
      ...config.server,
      port,
      host: '127.0.0.1',
      strictPort: true,
      proxy: { [`/${entry}/api`]: proxy, '/api': proxy },
    },
  });
  await server.listen();
  console.log(`${entry}: http://127.0.0.1:${port}/${entry}/`);
}
