import type { Config } from '../config/config.ts';
import { defaultPorts } from '../config/defaults.ts';
import { type AdminParts, type AdminServer, serveAdmin } from '../http/serve-admin.ts';

/**
 * Listens on the admin port. If the default port is in use by another gateway on this machine,
 * listens on a free one.
 */
export async function openAdmin(parts: AdminParts, address: Config['admin']): Promise<AdminServer> {
  try {
    return await serveAdmin(parts, address);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EADDRINUSE' || address.port !== defaultPorts.admin)
      throw error;
    return serveAdmin(parts, { ...address, port: 0 });
  }
}
