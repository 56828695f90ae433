import { useMatches } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { Icon } from '../ui/icons.tsx';
import { useApp } from './area.ts';
import { Link } from './link.tsx';
import { useOpenPages } from './open-pages.ts';
import type { PageEntry } from './pages.ts';
import { sharedSearch } from './search-params.ts';

/** The name of the application, a link to its first page. */
export function Logo() {
  const { t } = useTranslation();
  const { area } = useApp();
  return (
    <Link to="/" className="flex items-center gap-2 rounded-md px-2 text-lg font-semibold">
      <svg aria-hidden="true" width="18" height="18" viewBox="0 0 32 32" className="text-accent">
        <path
          d="M4 23c4 0 4-3.5 8-3.5S16 23 20 23s4-3.5 8-3.5M8 14.5V7.5c0-.7.8-1 1.3-.5L22 18.5M23.5 14V6"
          fill="none"
          stroke="currentColor"
          strokeWidth="3.2"
          strokeLinecap="round"
        />
      </svg>
      {t(`appName.${area}`)}
    </Link>
  );
}

/** The pages of the application, in groups. Links keep the shared filters. */
export function NavList({ label }: { label: string }) {
  const { t } = useTranslation(['navigation', 'common']);
  const pages = useOpenPages();
  const open: string = useMatches().at(-1)?.fullPath ?? '';
  const isOpen = ({ path }: PageEntry): boolean => open === path || open.startsWith(`${path}/`);
  const belowOf = (page: PageEntry): readonly PageEntry[] => {
    const below = pages.filter(({ nav }) => nav?.under === page.path);
    return [page, ...below].some(isOpen) ? below : [];
  };
  const groups = Map.groupBy(
    pages.filter(({ nav }) => nav !== undefined && nav.under === undefined),
    ({ nav }) => nav?.group ?? '',
  );
  return (
    <nav aria-label={label} className="flex flex-col gap-4">
      {[...groups].map(([group, members]) => (
        <div key={group}>
          {group === '' ? null : <p className="px-2 pb-1 text-xs text-muted">{t(`navigation:${group}`)}</p>}
          <ul className="flex flex-col gap-px">
            {members.map((page) => (
              <NavItem key={page.path} page={page} below={belowOf(page)} />
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

function NavItem({ page, below = [] }: { page: PageEntry; below?: readonly PageEntry[] }) {
  const { t } = useTranslation('navigation');
  if (page.nav === undefined) return null;
  const { icon, label, shortcut, badge: Waiting } = page.nav;
  return (
    <li>
      <Link
        to={page.path}
        search={sharedSearch}
        activeOptions={{ exact: page.path === '/', includeSearch: false }}
        activeProps={{ className: 'bg-pressed font-medium text-text', 'aria-current': 'page' }}
        inactiveProps={{ className: 'text-muted hover:bg-hover hover:text-text' }}
        className="group relative flex h-8 items-center gap-2 rounded-md px-2"
      >
        <Icon name={icon} />
        <span className="flex-1 truncate">{t(label)}</span>
        {Waiting === undefined ? null : <Waiting />}
        {shortcut === undefined ? null : (
          <span
            aria-hidden="true"
            className="absolute right-0 rounded-md bg-hover px-2 text-xs text-muted opacity-0 group-hover:opacity-100 group-focus-visible:opacity-100 max-lg:hidden"
          >
            G {shortcut.toUpperCase()}
          </span>
        )}
      </Link>
      {below.length === 0 ? null : (
        <ul className="flex flex-col gap-px pl-4">
          {below.map((one) => (
            <NavItem key={one.path} page={one} />
          ))}
        </ul>
      )}
    </li>
  );
}
