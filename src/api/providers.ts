import { type PublicProvider, publicProviders } from '../catalogue/public-providers.ts';
import type { ProviderConfig } from '../config/config.ts';
import { providersDocument } from './documents/models.ts';
import { route } from './route.ts';

/**
 * What the providers endpoint needs: only the configuration, so it works while the database is
 * unavailable (spec:errors/11.2).
 */
export interface ProviderRouteParts {
  readonly providers: readonly ProviderConfig[];
  readonly slots: readonly unknown[];
}

/** `GET /providers` (spec:compat/12). */
export function providerRoutes(config: () => ProviderRouteParts) {
  return [
    route({
      method: 'GET',
      path: '/api/v1/providers',
      credential: 'none',
      document: providersDocument,
      handle: () => ({ body: { data: publicProviders(config()).map(providerBody) } }),
    }),
  ];
}

function providerBody(provider: PublicProvider): object {
  return {
    name: provider.name,
    slug: provider.slug,
    privacy_policy_url: provider.privacyPolicyUrl,
    terms_of_service_url: provider.termsOfServiceUrl,
    status_page_url: provider.statusPageUrl,
    headquarters: null,
    datacenters: null,
  };
}
