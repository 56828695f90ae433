import type { PageEntry } from '../app/pages.ts';

/** Every page of the dashboard, in the order of the navigation. */
export const dashboardPages: readonly PageEntry[] = [
  {
    path: '/',
    namespace: 'overview',
    alsoUses: ['usage'],
    load: () => import('./overview/page.tsx'),
    nav: { label: 'overview', icon: 'home', shortcut: 'o' },
  },
  {
    path: '/usage',
    namespace: 'usage',
    load: () => import('./usage/page.tsx'),
    nav: { label: 'usage', icon: 'chart', group: 'groupUse', shortcut: 'u' },
  },
  {
    path: '/requests',
    namespace: 'requests',
    alsoUses: ['usage'],
    load: () => import('./requests/page.tsx'),
    nav: { label: 'requests', icon: 'list', group: 'groupUse', shortcut: 'r' },
  },
  {
    path: '/requests/$id',
    namespace: 'request',
    alsoUses: ['requests'],
    load: () => import('./request/page.tsx'),
    typed: {
      pathOf: (text) => (/^(gen-|req_)[\w-]{8,100}$/.test(text) ? `/requests/${text}` : null),
      label: 'palette.request',
      icon: 'search',
    },
  },
  {
    path: '/apps',
    namespace: 'apps',
    alsoUses: ['usage'],
    load: () => import('./apps/page.tsx'),
    nav: { label: 'apps', icon: 'apps', group: 'groupUse', shortcut: 'a' },
  },
  {
    path: '/apps/$id',
    namespace: 'apps',
    alsoUses: ['usage'],
    load: () => import('./app/page.tsx'),
  },
  {
    path: '/keys',
    namespace: 'keys',
    load: () => import('./keys/page.tsx'),
    nav: { label: 'keys', icon: 'key', group: 'groupUse', shortcut: 'k' },
  },
  {
    path: '/management-keys',
    namespace: 'keys',
    load: () => import('./management-keys/page.tsx'),
    nav: { label: 'managementKeys', icon: 'shield', group: 'groupUse' },
  },
  {
    path: '/credits',
    namespace: 'credits',
    alsoUses: ['overview'],
    load: () => import('./credits/page.tsx'),
    nav: { label: 'credits', icon: 'coins', group: 'groupMoney', shortcut: 'c' },
  },
  {
    path: '/transactions',
    namespace: 'transactions',
    load: () => import('./transactions/page.tsx'),
    nav: { label: 'transactions', icon: 'receipt', group: 'groupMoney', shortcut: 't' },
  },
  {
    path: '/models',
    namespace: 'models',
    load: () => import('./models/page.tsx'),
    nav: { label: 'models', icon: 'model', group: 'groupExplore', shortcut: 'm' },
  },
  {
    path: '/playground',
    namespace: 'playground',
    load: () => import('./playground/page.tsx'),
    nav: { label: 'playground', icon: 'play', group: 'groupExplore', shortcut: 'p' },
  },
  {
    path: '/rankings',
    namespace: 'rankings',
    access: 'public',
    load: () => import('./rankings/page.tsx'),
    nav: { label: 'rankings', icon: 'trophy', group: 'groupExplore', shortcut: 'l' },
  },
  {
    path: '/settings',
    namespace: 'settings',
    alsoUses: ['credits'],
    load: () => import('./settings/page.tsx'),
    nav: { label: 'settings', icon: 'gear', group: 'groupAccount', shortcut: 's' },
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
  {
    path: '/components',
    namespace: 'components',
    access: 'public',
    load: () => import('./components/page.tsx'),
  },
];
