import type { ProviderConfig } from '../config/config.ts';
import { ownProvider } from './model.ts';

/** What everybody may know of a provider. */
export type PublicProvider = Pick<
  ProviderConfig,
  'slug' | 'name' | 'privacyPolicyUrl' | 'termsOfServiceUrl' | 'statusPageUrl'
>;

const noPages = { privacyPolicyUrl: null, termsOfServiceUrl: null, statusPageUrl: null };

/** The providers, the own slots together as the first one. */
export function publicProviders({
  providers,
  slots,
}: {
  readonly providers: readonly PublicProvider[];
  readonly slots: readonly unknown[];
}): readonly PublicProvider[] {
  return slots.length === 0 ? providers : [{ ...ownProvider, ...noPages }, ...providers];
}
