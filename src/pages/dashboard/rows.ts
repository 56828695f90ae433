import { type AnnouncementParts, dashboardAnnouncementPages } from '../announcement-rows.ts';
import { externalSignInPages } from '../external-sign-in-rows.ts';
import { ownerSessionPage, type SessionPageParts, sessionPages } from '../session-rows.ts';
import { dashboardSignInPages, type SignInPageParts } from '../sign-in-rows.ts';
import { dashboardTopupPages, type TopupPageParts } from '../topup-rows.ts';
import { usagePages } from '../usage-rows.ts';
import type { UsagePageParts } from '../usage-scope.ts';
import { type AccountPageParts, accountPages } from './account.ts';
import { type AlertPageParts, alertPages } from './alerts.ts';
import { type AppPageParts, appPages } from './apps.ts';
import { credentialPages } from './credentials.ts';
import { type CreditPageParts, creditPages } from './credits.ts';
import { type GenerationPageParts, generationPages } from './generations.ts';
import { type KeyPageParts, keyPages } from './keys.ts';
import { type LedgerPageParts, ledgerPages } from './ledger.ts';
import { type LiveRequestParts, liveRequestPages } from './live-requests.ts';
import { type ModelPageParts, modelPages } from './models.ts';
import { profilePages } from './profile.ts';
import { type RankingPageParts, rankingPages } from './rankings.ts';

/**
 * What the rows of the dashboard need. Handlers use it; the rows themselves can be made without.
 */
export type DashboardParts = SessionPageParts &
  SignInPageParts &
  AccountPageParts &
  AlertPageParts &
  CreditPageParts &
  KeyPageParts &
  LedgerPageParts &
  GenerationPageParts &
  LiveRequestParts &
  ModelPageParts &
  UsagePageParts &
  AnnouncementParts &
  TopupPageParts &
  AppPageParts &
  RankingPageParts;

/** Every row of the dashboard's API. */
export function dashboardRows(parts: DashboardParts) {
  return [
    ownerSessionPage(parts),
    ...sessionPages('dashboard', parts),
    ...dashboardSignInPages(parts),
    ...externalSignInPages(parts),
    ...profilePages(parts),
    ...credentialPages(parts),
    ...accountPages(parts),
    ...dashboardAnnouncementPages(parts),
    ...alertPages(parts),
    ...creditPages(parts),
    ...keyPages(parts),
    ...ledgerPages(parts),
    ...generationPages(parts),
    ...liveRequestPages(parts),
    ...modelPages(parts),
    ...usagePages('dashboard', parts),
    ...appPages(parts),
    ...rankingPages(parts),
    ...dashboardTopupPages(parts),
  ] as const;
}
