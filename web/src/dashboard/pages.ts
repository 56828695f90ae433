import type { PageEntry } from '../app/pages.ts';

/** Every page of the dashboard, in the order of the navigation. */
export const dashboardPages: readonly PageEntry[] = [
  {
    path: '/components',
    namespace: 'components',
    access: 'public',
    load: () => import('./components/page.tsx'),
  },
];
