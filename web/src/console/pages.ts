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
    path: '/accounts',
    namespace: 'accounts',
    load: () => import('./accounts/page.tsx'),
    nav: { label: 'accounts', icon: 'users', group: 'groupCustomers', shortcut: 'a' },
  },
  {
    path: '/accounts/$id',
    namespace: 'account',
    alsoUses: ['accounts', 'acts', 'console-keys', 'keys'],
    load: () => import('./account/page.tsx'),
  },
  {
    path: '/keys',
    namespace: 'console-keys',
    alsoUses: ['acts', 'keys'],
    load: () => import('./keys/page.tsx'),
    nav: { label: 'consoleKeys', icon: 'key', group: 'groupCustomers', shortcut: 'k' },
  },
  {
    path: '/keys/$hash',
    namespace: 'console-keys',
    alsoUses: ['acts', 'keys'],
    load: () => import('./key/page.tsx'),
  },
  {
    path: '/top-ups',
    namespace: 'top-ups',
    alsoUses: ['acts'],
    load: () => import('./top-ups/page.tsx'),
    nav: { label: 'topUps', icon: 'coins', group: 'groupCustomers', shortcut: 't' },
  },
  {
    path: '/liability',
    namespace: 'liability',
    load: () => import('./liability/page.tsx'),
    nav: { label: 'liability', icon: 'receipt', group: 'groupCustomers', shortcut: 'l' },
  },
  {
    path: '/announcements',
    namespace: 'announcements',
    alsoUses: ['acts'],
    load: () => import('./announcements/page.tsx'),
    nav: { label: 'announcements', icon: 'info', group: 'groupCustomers' },
  },
  {
    path: '/slots',
    namespace: 'slots',
    load: () => import('./slots/page.tsx'),
    nav: { label: 'slots', icon: 'server', group: 'groupRouting', shortcut: 's' },
  },
  {
    path: '/audit',
    namespace: 'audit',
    load: () => import('./audit/page.tsx'),
    nav: { label: 'audit', icon: 'shield', group: 'groupSystem', shortcut: 'u' },
  },
  {
    path: '/candidates',
    namespace: 'candidates',
    alsoUses: ['now'],
    load: () => import('./candidates/page.tsx'),
    nav: { label: 'candidates', icon: 'list', group: 'groupRouting', shortcut: 'c' },
  },
  {
    path: '/configuration',
    namespace: 'configuration',
    load: () => import('./configuration/page.tsx'),
    nav: { label: 'configuration', icon: 'gear', group: 'groupSystem', shortcut: 'f' },
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
