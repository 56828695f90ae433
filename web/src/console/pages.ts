import type { PageTable } from '../app/pages.ts';
import type { ConsolePath } from '../app/paths.ts';
import { PendingBadge } from './top-ups/pending-badge.tsx';

/** Every page of the console, in the order of the navigation. */
export const consolePages: PageTable<ConsolePath> = {
  '/': {
    namespace: 'now',
    alsoUses: ['slots'],
    load: () => import('./now/page.tsx'),
    nav: { label: 'now', icon: 'live', shortcut: 'n' },
  },
  '/open': {
    namespace: 'open',
    alsoUses: ['now'],
    load: () => import('./open/page.tsx'),
  },
  '/usage': {
    namespace: 'usage',
    load: () => import('./usage/page.tsx'),
    nav: { label: 'usage', icon: 'chart', shortcut: 'o' },
  },
  '/requests': {
    namespace: 'requests',
    alsoUses: ['usage'],
    load: () => import('./requests/page.tsx'),
    nav: { label: 'requests', icon: 'list', shortcut: 'r' },
  },
  '/requests/$id': {
    namespace: 'requests',
    load: () => import('./found-request/page.tsx'),
    typed: {
      pathOf: (text) => (/^(gen-|req_)[\w-]{8,100}$/.test(text) ? `/requests/${text}` : null),
      label: 'palette.request',
      icon: 'search',
    },
  },
  '/accounts': {
    namespace: 'accounts',
    alsoUses: ['account', 'acts'],
    load: () => import('./accounts/page.tsx'),
    nav: { label: 'accounts', icon: 'users', group: 'groupCustomers', shortcut: 'a' },
  },
  '/accounts/$id': {
    namespace: 'account',
    alsoUses: [
      'accounts',
      'acts',
      'apps',
      'console-keys',
      'credits',
      'keys',
      'requests',
      'settings',
      'transactions',
      'usage',
    ],
    load: () => import('./account/page.tsx'),
  },
  '/accounts/$id/requests/$request': {
    namespace: 'request',
    alsoUses: ['account', 'acts', 'requests'],
    load: () => import('./request/page.tsx'),
  },
  '/accounts/$id/statement': {
    namespace: 'statement',
    alsoUses: ['account', 'month-end', 'transactions'],
    load: () => import('./statement/page.tsx'),
  },
  '/keys': {
    namespace: 'console-keys',
    alsoUses: ['acts', 'keys'],
    load: () => import('./keys/page.tsx'),
    nav: { label: 'consoleKeys', icon: 'key', group: 'groupCustomers', shortcut: 'k' },
  },
  '/keys/$hash': {
    namespace: 'console-keys',
    alsoUses: ['acts', 'keys'],
    load: () => import('./key/page.tsx'),
  },
  '/top-ups': {
    namespace: 'top-ups',
    alsoUses: ['acts'],
    load: () => import('./top-ups/page.tsx'),
    nav: { label: 'topUps', icon: 'coins', group: 'groupCustomers', shortcut: 't', badge: PendingBadge },
  },
  '/liability': {
    namespace: 'liability',
    load: () => import('./liability/page.tsx'),
    nav: { label: 'liability', icon: 'receipt', group: 'groupCustomers', shortcut: 'l' },
  },
  '/announcements': {
    namespace: 'announcements',
    alsoUses: ['acts'],
    load: () => import('./announcements/page.tsx'),
    nav: { label: 'announcements', icon: 'info', group: 'groupCustomers' },
  },
  '/slots': {
    namespace: 'slots',
    load: () => import('./slots/page.tsx'),
    nav: { label: 'slots', icon: 'server', group: 'groupRouting', shortcut: 's' },
  },
  '/prices': {
    namespace: 'prices',
    alsoUses: ['acts'],
    load: () => import('./prices/page.tsx'),
    nav: { label: 'prices', icon: 'model', group: 'groupMoney', shortcut: 'p' },
  },
  '/exchange': {
    namespace: 'exchange',
    alsoUses: ['prices'],
    load: () => import('./exchange/page.tsx'),
    nav: { label: 'exchange', icon: 'globe', group: 'groupMoney', shortcut: 'x' },
  },
  '/books': {
    namespace: 'books',
    load: () => import('./books/page.tsx'),
    nav: { label: 'books', icon: 'book', group: 'groupMoney', shortcut: 'b' },
  },
  '/month-end': {
    namespace: 'month-end',
    alsoUses: ['accounts'],
    load: () => import('./month-end/page.tsx'),
    nav: { label: 'monthEnd', icon: 'receipt', group: 'groupMoney', shortcut: 'm' },
  },
  '/quarantine': {
    namespace: 'quarantine',
    alsoUses: ['acts'],
    load: () => import('./quarantine/page.tsx'),
  },
  '/datasets': {
    namespace: 'datasets',
    alsoUses: ['acts'],
    load: () => import('./datasets/page.tsx'),
    nav: { label: 'datasets', icon: 'table', under: '/prices', shortcut: 'd' },
  },
  '/audit': {
    namespace: 'audit',
    load: () => import('./audit/page.tsx'),
    nav: { label: 'audit', icon: 'shield', group: 'groupSystem', shortcut: 'u' },
  },
  '/operators': {
    namespace: 'operators',
    alsoUses: ['acts', 'settings'],
    load: () => import('./operators/page.tsx'),
    nav: { label: 'operators', icon: 'users', group: 'groupSystem' },
  },
  '/candidates': {
    namespace: 'candidates',
    alsoUses: ['acts', 'now'],
    load: () => import('./candidates/page.tsx'),
    nav: { label: 'candidates', icon: 'list', group: 'groupRouting', shortcut: 'c' },
  },
  '/configuration': {
    namespace: 'configuration',
    load: () => import('./configuration/page.tsx'),
    nav: { label: 'configuration', icon: 'gear', group: 'groupSystem', shortcut: 'f' },
  },
  '/settings': {
    namespace: 'settings',
    load: () => import('./settings/page.tsx'),
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
};
