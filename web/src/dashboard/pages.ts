import type { PageTable } from '../app/pages.ts';
import type { DashboardPath } from '../app/paths.ts';

/** Every page of the dashboard, in the order of the navigation. */
export const dashboardPages: PageTable<DashboardPath> = {
  '/': {
    namespace: 'overview',
    alsoUses: ['usage'],
    load: () => import('./overview/page.tsx'),
    nav: { label: 'overview', icon: 'home', shortcut: 'o' },
  },
  '/usage': {
    namespace: 'usage',
    load: () => import('./usage/page.tsx'),
    nav: { label: 'usage', icon: 'chart', group: 'groupUse', shortcut: 'u' },
  },
  '/requests': {
    namespace: 'requests',
    alsoUses: ['usage'],
    load: () => import('./requests/page.tsx'),
    nav: { label: 'requests', icon: 'list', group: 'groupUse', shortcut: 'r' },
  },
  '/requests/$id': {
    namespace: 'request',
    alsoUses: ['requests'],
    load: () => import('./request/page.tsx'),
    typed: {
      pathOf: (text) => (/^(gen-|req_)[\w-]{8,100}$/.test(text) ? `/requests/${text}` : null),
      label: 'palette.request',
      icon: 'search',
    },
  },
  '/apps': {
    namespace: 'apps',
    alsoUses: ['usage', 'programs'],
    load: () => import('./apps/page.tsx'),
    nav: { label: 'apps', icon: 'apps', group: 'groupUse', shortcut: 'a' },
  },
  '/apps/$id': {
    namespace: 'apps',
    alsoUses: ['usage'],
    load: () => import('./app/page.tsx'),
  },
  '/keys': {
    namespace: 'keys',
    alsoUses: ['programs'],
    load: () => import('./keys/page.tsx'),
    nav: { label: 'keys', icon: 'key', group: 'groupUse', shortcut: 'k' },
  },
  '/management-keys': {
    namespace: 'keys',
    alsoUses: ['programs'],
    load: () => import('./management-keys/page.tsx'),
    nav: { label: 'managementKeys', icon: 'shield', group: 'groupUse' },
  },
  '/credits': {
    namespace: 'credits',
    alsoUses: ['overview', 'top-ups'],
    load: () => import('./credits/page.tsx'),
    nav: { label: 'credits', icon: 'coins', group: 'groupMoney', shortcut: 'c' },
  },
  '/statement': {
    namespace: 'statement',
    alsoUses: ['month-end', 'transactions'],
    load: () => import('./statement/page.tsx'),
  },
  '/transactions': {
    namespace: 'transactions',
    load: () => import('./transactions/page.tsx'),
    nav: { label: 'transactions', icon: 'receipt', group: 'groupMoney', shortcut: 't' },
  },
  '/models': {
    namespace: 'models',
    access: 'public',
    load: () => import('./models/page.tsx'),
    nav: { label: 'models', icon: 'model', group: 'groupExplore', shortcut: 'm' },
  },
  '/models/$author/$slug': {
    namespace: 'model',
    alsoUses: ['models', 'programs'],
    access: 'public',
    load: () => import('./model/page.tsx'),
  },
  '/playground': {
    namespace: 'playground',
    alsoUses: ['request'],
    load: () => import('./playground/page.tsx'),
    nav: { label: 'playground', icon: 'play', group: 'groupExplore', shortcut: 'p' },
  },
  '/rankings': {
    namespace: 'rankings',
    access: 'public',
    load: () => import('./rankings/page.tsx'),
    nav: { label: 'rankings', icon: 'trophy', under: '/models', shortcut: 'l' },
  },
  '/providers': {
    namespace: 'providers',
    access: 'public',
    load: () => import('./providers/page.tsx'),
    nav: { label: 'providers', icon: 'server', group: 'groupExplore', shortcut: 'v' },
  },
  '/docs': {
    namespace: 'docs',
    alsoUses: ['programs'],
    access: 'public',
    load: () => import('./docs/page.tsx'),
    nav: { label: 'docs', icon: 'book', group: 'groupExplore', shortcut: 'd' },
  },
  '/settings': {
    namespace: 'settings',
    alsoUses: ['credits'],
    load: () => import('./settings/page.tsx'),
    nav: { label: 'settings', icon: 'gear', group: 'groupAccount', shortcut: 's' },
  },
  '/sign-in': {
    namespace: 'sign-in',
    access: 'bare',
    load: () => import('./sign-in/page.tsx'),
  },
  '/link': {
    namespace: 'sign-in',
    access: 'bare',
    load: () => import('./link/page.tsx'),
  },
  '/components': {
    namespace: 'components',
    access: 'public',
    load: () => import('./components/page.tsx'),
  },
};
