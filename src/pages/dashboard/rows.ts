import { dashboardAnnouncementPages } from '../announcement-rows.ts';
import type { DashboardContext } from '../context.ts';
import { externalSignInPages } from '../external-sign-in-rows.ts';
import { messagePages } from '../message-rows.ts';
import { dashboardPaymentPages } from '../payment-rows.ts';
import { dashboardSearchPage } from '../search-rows.ts';
import { ownerSessionPage, sessionPages } from '../session-rows.ts';
import { dashboardSignInPages } from '../sign-in-rows.ts';
import { dashboardTopupPages } from '../topup-rows.ts';
import { usagePages, usedTagPages } from '../usage-rows.ts';
import { accountPages } from './account.ts';
import { alertPages } from './alerts.ts';
import { appPages } from './apps.ts';
import { credentialPages } from './credentials.ts';
import { creditPages } from './credits.ts';
import { generationPages } from './generations.ts';
import { keyPages } from './keys.ts';
import { ledgerPages } from './ledger.ts';
import { liveRequestPages } from './live-requests.ts';
import { modelPages } from './models.ts';
import { profilePages } from './profile.ts';
import { rankingPages } from './rankings.ts';
import { statementPages } from './statement.ts';

/** Every row of the dashboard's API. */
export function dashboardRows(parts: DashboardContext) {
  return [
    ownerSessionPage(parts),
    ...sessionPages('dashboard', parts),
    ...dashboardSignInPages(parts),
    ...externalSignInPages('dashboard', parts),
    ...profilePages(parts),
    ...credentialPages(parts),
    ...accountPages(parts),
    dashboardSearchPage(parts),
    ...dashboardAnnouncementPages(parts),
    ...alertPages(parts),
    ...messagePages('dashboard', parts),
    ...creditPages(parts),
    ...keyPages(parts),
    ...ledgerPages(parts),
    ...statementPages(parts),
    ...generationPages(parts),
    ...liveRequestPages(parts),
    ...modelPages(parts),
    ...usagePages('dashboard', parts),
    ...usedTagPages(parts),
    ...appPages(parts),
    ...rankingPages(parts),
    ...dashboardTopupPages(parts),
    ...(parts.payments === null ? [] : dashboardPaymentPages(parts)),
  ] as const;
}
