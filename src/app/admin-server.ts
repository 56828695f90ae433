import type { Config } from '../config/config.ts';
import { type AdminServer, serveAdmin } from '../http/serve-admin.ts';

const defaultAdminPort = 8788;

/** The usual admin port is nobody's wish: when another gateway of this machine has it, any other does. */
export async function openAdmin(
  pages: Parameters<typeof serveAdmin>[0],
  address: Config['admin'],
): Promise<AdminServer> {
  try {
    return await serveAdmin(pages, address);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EADDRINUSE' || address.port !== defaultAdminPort) throw error;
    return serveAdmin(pages, { ...address, port: 0 });
  }
}
