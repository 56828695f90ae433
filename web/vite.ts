import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import tailwind from '@tailwindcss/vite';
import type { InlineConfig, Plugin } from 'vite';

/** The two applications. Each has its own origin, base path and bundle. */
export const entries = ['dashboard', 'console'] as const;
export type Entry = (typeof entries)[number];

const web = import.meta.dirname;

/** The configuration of Vite for one application, for the build and for the development server. */
export function viteConfig(entry: Entry): InlineConfig {
  return {
    configFile: false,
    root: join(web, 'entries', entry),
    base: `/${entry}/`,
    publicDir: false,
    cacheDir: join(web, '../node_modules/.cache/vite', entry),
    logLevel: 'error',
    plugins: [tailwind(), bootScript()],
    server: { fs: { allow: [join(web, '..')] } },
    build: {
      target: 'baseline-widely-available',
      // The content security policy allows no data: URLs for scripts and fonts.
      assetsInlineLimit: 0,
      emptyOutDir: true,
      reportCompressedSize: false,
      license: { fileName: 'licenses.txt' },
    },
  };
}

/**
 * Adds `src/app/boot.js` as a blocking script of its own to the page. It sets theme and language
 * before the first paint; the content security policy allows no inline script.
 */
function bootScript(): Plugin {
  const source = readFileSync(join(web, 'src/app/boot.js'), 'utf8');
  let base = '/';
  let isBuild = false;
  return {
    name: 'naru-boot-script',
    configResolved(config) {
      base = config.base;
      isBuild = config.command === 'build';
    },
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        if (request.url !== `${base}boot.js`) return next();
        response.setHeader('Content-Type', 'text/javascript');
        response.end(source);
      });
    },
    buildStart() {
      if (isBuild) this.emitFile({ type: 'asset', name: 'boot.js', source });
    },
    transformIndexHtml: {
      order: 'post',
      handler(_html, context) {
        const built = Object.values(context.bundle ?? {}).find(
          (file) => file.type === 'asset' && file.names.includes('boot.js'),
        );
        const src = `${base}${built?.fileName ?? 'boot.js'}`;
        return [{ tag: 'script', attrs: { src }, injectTo: 'head-prepend' }];
      },
    },
  };
}
