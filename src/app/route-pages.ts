import type { Catalogue } from '../catalogue/catalogue.ts';
import type { AdminPage } from '../http/serve-admin.ts';
import { explainRoute, questionOf } from '../inference/explain-route.ts';
import { reportHealth } from '../routing/health-report.ts';
import type { HealthView } from '../upstreams/health-status.ts';
import type { AdminHealth, AdminRoute } from './route-explain.ts';

/** `GET /route?model=…` and `GET /route/health` of the admin port, for `naru route`. */
export function routePages(
  dataDir: string,
  catalogue: () => Catalogue,
  health: HealthView,
): Readonly<Record<string, AdminPage>> {
  return {
    '/route': (query): AdminRoute => ({
      data_dir: dataDir,
      explanation: explainRoute(questionOf(query), { catalogue: catalogue(), health, knowledge: 'live' }),
    }),
    '/route/health': (): AdminHealth => ({
      data_dir: dataDir,
      candidates: reportHealth(catalogue(), health),
    }),
  };
}
