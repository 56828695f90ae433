import { type ConsoleAnnouncementParts, consoleAnnouncementPages } from '../announcement-rows.ts';
import { operatorSessionPage, type SessionPageParts, sessionPages } from '../session-rows.ts';
import { consoleSignInPage } from '../sign-in-rows.ts';
import { usagePages } from '../usage-rows.ts';
import type { UsagePageParts } from '../usage-scope.ts';
import { type AccountCreditParts, accountCreditPages } from './account-credit.ts';
import { type AccountViewParts, accountViewPages } from './account-views.ts';
import { type ConsoleAccountParts, consoleAccountPages } from './accounts.ts';
import { auditPages } from './audit.ts';
import { type CandidatePageParts, candidatePages } from './candidates.ts';
import { type ConfigurationPageParts, configurationPages } from './configuration.ts';
import { type DatasetPageParts, datasetPages } from './datasets.ts';
import { type AllGenerationParts, allGenerationPages } from './generations.ts';
import { type ConsoleKeyParts, consoleKeyPages } from './keys.ts';
import { type ConsoleLedgerParts, consoleLedgerPages } from './ledger.ts';
import { type LiabilityParts, liabilityPages } from './liability.ts';
import { type NodePageParts, nodePages } from './nodes.ts';
import { type NowPageParts, nowPages } from './now.ts';
import { type OpenWorkPageParts, openWorkPages } from './open-work.ts';
import { accountOwnerPages, operatorPages } from './operators.ts';
import { type PricePageParts, pricePages } from './prices.ts';
import { type QuarantinePageParts, quarantinePages } from './quarantine.ts';
import { type SlotPageParts, slotPages } from './slots.ts';
import { type ConsoleTopupParts, consoleTopupPages } from './topups.ts';

/** What the rows of the console need. Handlers use it; the rows themselves can be made without. */
export type ConsoleParts = SessionPageParts &
  UsagePageParts &
  ConsoleTopupParts &
  ConsoleAccountParts &
  AccountCreditParts &
  AccountViewParts &
  AllGenerationParts &
  ConsoleKeyParts &
  LiabilityParts &
  ConsoleAnnouncementParts &
  NodePageParts &
  NowPageParts &
  OpenWorkPageParts &
  PricePageParts &
  DatasetPageParts &
  ConsoleLedgerParts &
  QuarantinePageParts &
  SlotPageParts &
  CandidatePageParts &
  ConfigurationPageParts;

/** Every row of the console's API. */
export function consoleRows(parts: ConsoleParts) {
  return [
    operatorSessionPage(),
    ...sessionPages('console', parts),
    consoleSignInPage(parts),
    ...operatorPages(parts),
    ...consoleAccountPages(parts),
    ...accountCreditPages(parts),
    ...accountViewPages(parts),
    ...allGenerationPages(parts),
    ...consoleKeyPages(parts),
    ...accountOwnerPages(parts),
    ...auditPages(parts),
    ...consoleAnnouncementPages(parts),
    ...liabilityPages(parts),
    ...usagePages('console', parts),
    ...consoleTopupPages(parts),
    ...nodePages(parts),
    ...nowPages(parts),
    ...openWorkPages(parts),
    ...pricePages(parts),
    ...datasetPages(parts),
    ...consoleLedgerPages(parts),
    ...quarantinePages(parts),
    ...slotPages(parts),
    ...candidatePages(parts),
    ...configurationPages(parts),
  ] as const;
}
