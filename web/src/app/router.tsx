import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  type RouteComponent,
} from '@tanstack/react-router';
import { loadNamespace } from '../i18n/i18n.ts';
import { Loading } from '../ui/button.tsx';
import { NotFoundPage, PageFailed } from './fallback-pages.tsx';
import type { Area, PageEntry } from './pages.ts';
import { parseSearch, stringifySearch } from './search-params.ts';
import { SessionGate } from './session-gate.tsx';
import { Shell } from './shell.tsx';

/** The routes of an application from the table of its pages. Code and texts of a page load together. */
export function routerOf(area: Area, pages: readonly PageEntry[]) {
  const root = createRootRoute({
    component: Outlet,
    notFoundComponent: () => (
      <Shell>
        <NotFoundPage />
      </Shell>
    ),
  });
  const shell = createRoute({
    getParentRoute: () => root,
    id: 'shell',
    component: Shell,
  });
  const signedIn = createRoute({
    getParentRoute: () => shell,
    id: 'session',
    component: SessionGate,
  });
  const parents = { session: signedIn, public: shell, bare: root };
  const byAccess = (access: 'session' | 'public' | 'bare') =>
    pages
      .filter((page) => (page.access ?? 'session') === access)
      .map((page) =>
        createRoute({
          getParentRoute: () => parents[access],
          path: page.path,
          loader: () => Promise.all([page.namespace, ...(page.alsoUses ?? [])].map(loadNamespace)),
          component: lazyRouteComponent(page.load, 'Page') as RouteComponent,
        }),
      );
  const routeTree = root.addChildren([
    shell.addChildren([signedIn.addChildren(byAccess('session')), ...byAccess('public')]),
    ...byAccess('bare'),
  ]);
  return createRouter({
    routeTree,
    basepath: `/${area}`,
    parseSearch,
    stringifySearch,
    defaultPreload: 'intent',
    scrollRestoration: true,
    defaultPendingComponent: () => (
      <div className="mx-auto w-full max-w-290 px-4 py-6 lg:px-8">
        <Loading />
      </div>
    ),
    defaultPendingMs: 150,
    defaultErrorComponent: PageFailed,
    defaultNotFoundComponent: NotFoundPage,
  });
}
