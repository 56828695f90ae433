import { parse } from 'yaml';
import { builtInConfig } from '../../src/app/default-config.ts';
import type { ProcessContext } from '../../src/app/process-context.ts';
import { createInstallation, type Installation, root, type Serving } from '../cli/naru.ts';

/** The server as `npm start` runs it for the first time, with what it printed. */
export interface DemoSite {
  readonly installation: Installation;
  readonly server: Serving;
  readonly links: { readonly dashboard: string; readonly console: string };
  /** The inference key of the demo account. */
  readonly key: string;
  close(): Promise<void>;
}

/** What the server would use without a file; with one, the admin listener gets a free port. */
export function demoConfig(dataDir: string): Readonly<Record<string, unknown>> {
  return parse(builtInConfig(dataDir, { nodePath: process.execPath, root } as ProcessContext));
}

/** Starts it. */
export async function startDemoSite(): Promise<DemoSite> {
  const installation = createInstallation();
  const file = installation.configure(demoConfig(installation.dataDir));
  const server = await installation.up('--config', file);
  const printed = (pattern: RegExp): string => {
    const found = pattern.exec(server.out())?.[1];
    if (found === undefined) throw new Error(`the first start did not print ${pattern}`);
    return found;
  };
  return {
    installation,
    server,
    links: { dashboard: printed(/dashboard +(http\S+)/), console: printed(/console +(http\S+)/) },
    key: printed(/inference key +(\S+)/),
    close: async () => {
      await server.stop();
      installation.remove();
    },
  };
}
