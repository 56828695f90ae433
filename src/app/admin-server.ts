import type { Config } from '../config/config.ts';
import { defaultPorts } from '../config/default-ports.ts';
import { type AdminServer, serveAdmin } from '../http/serve-admin.ts';

/** Listens on the admin port. When the default port is in use, another gateway of this machine has it: any free port will do. */
export async function openAdmin(
  pages: Parameters<typeof serveAdmin>[0],
  address: Config['admin'],
): Promise<AdminServer> {
  try {
    return await serveAdmin(pages, address);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EADDRINUSE' || address.port !== defaultPorts.admin)
      throw error;
    return serveAdmin(pages, { ...address, port: 0 });
  }
}
