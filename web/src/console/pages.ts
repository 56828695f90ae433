import type { PageEntry } from '../app/pages.ts';

/** Every page of the console, in the order of the navigation. */
export const consolePages: readonly PageEntry[] = [
  {
    path: '/',
    namespace: 'now',
    alsoUses: ['slots'],
    load: () => import('./now/page.tsx'),
    nav: { label: 'now', icon: 'live', shortcut: 'n' },
  },
  {
    path: '/sign-in',
    namespace: 'sign-in',
    access: 'bare',
    load: () => import('./sign-in/page.tsx'),
  },
  {
    path: '/link',
    namespace: 'sign-in',
    access: 'bare',
    load: () => import('./link/page.tsx'),
  },
];
