import type { Config } from '../config/config.ts';
import type { Krw } from '../money/krw.ts';
import type { AuditContext } from './audited.ts';
import type { PaymentProvider } from './payment-provider.ts';

/** What operators' use cases need. */
export interface OperationsContext extends AuditContext {
  readonly keyPrefix: string;
  readonly maxKeysPerAccount: number;
  /** The most that an operator with the role support may grant in a day of Seoul. */
  readonly supportCreditLimit: Krw;
  /** What is compared and published; a server reads its file each time. */
  readonly catalogue?: { readonly config: Config; readonly configToPublish: () => Config };
  /** The provider of payments by card; null or absent: none. */
  readonly payments?: PaymentProvider | null;
  /** The source of datasets; absent: none. */
  readonly datasets?: Config['datasets'];
}
