import { consoleAnnouncementPages } from '../announcement-rows.ts';
import type { ConsoleContext } from '../context.ts';
import { externalSignInPages } from '../external-sign-in-rows.ts';
import { messagePages } from '../message-rows.ts';
import { openapiPage } from '../openapi.ts';
import { passkeyPages } from '../passkey-rows.ts';
import { consolePaymentPages } from '../payment-rows.ts';
import { consoleSearchPage } from '../search-rows.ts';
import { openSessionPages, operatorSessionPage, sessionPages } from '../session-rows.ts';
import { consoleSignInPages } from '../sign-in-rows.ts';
import { usagePages } from '../usage-rows.ts';
import { accountCreditPages } from './account-credit.ts';
import { accountViewPages } from './account-views.ts';
import { consoleAccountPages } from './accounts.ts';
import { auditPages } from './audit.ts';
import { candidatePages } from './candidates.ts';
import { configurationPages } from './configuration.ts';
import { datasetPages } from './datasets.ts';
import { allGenerationPages } from './generations.ts';
import { consoleKeyPages } from './keys.ts';
import { consoleLedgerPages } from './ledger.ts';
import { liabilityPages } from './liability.ts';
import { monthEndPages } from './month-end.ts';
import { nodePages } from './nodes.ts';
import { nowPages } from './now.ts';
import { openWorkPages } from './open-work.ts';
import { accountOwnerPages, operatorPages, tokenPages } from './operators.ts';
import { pricePages } from './prices.ts';
import { quarantinePages } from './quarantine.ts';
import { slotPages } from './slots.ts';
import { consoleTopupPages } from './topups.ts';

/** Every row of the console's API. */
export function consoleRows(parts: ConsoleContext) {
  const rows = [
    operatorSessionPage(),
    ...sessionPages('console', parts),
    ...openSessionPages(parts),
    ...consoleSignInPages(parts),
    ...externalSignInPages('console', parts),
    ...passkeyPages('console', parts),
    ...operatorPages(parts),
    ...tokenPages(parts),
    ...consoleAccountPages(parts),
    consoleSearchPage(parts),
    ...accountCreditPages(parts),
    ...accountViewPages(parts),
    ...allGenerationPages(parts),
    ...consoleKeyPages(parts),
    ...accountOwnerPages(parts),
    ...auditPages(parts),
    ...consoleAnnouncementPages(parts),
    ...messagePages('console', parts),
    ...liabilityPages(parts),
    ...usagePages('console', parts),
    ...consoleTopupPages(parts),
    ...consolePaymentPages(parts),
    ...nodePages(parts),
    ...nowPages(parts),
    ...openWorkPages(parts),
    ...pricePages(parts),
    ...datasetPages(parts),
    ...consoleLedgerPages(parts),
    ...monthEndPages(parts),
    ...quarantinePages(parts),
    ...slotPages(parts),
    ...candidatePages(parts),
    ...configurationPages(parts),
  ] as const;
  return [...rows, openapiPage(rows)] as const;
}
