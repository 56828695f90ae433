import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { sessionQuery } from '../api/session.ts';
import { buttonClass, IconButton } from '../ui/button.tsx';
import { Menu, type MenuItem } from '../ui/menu.tsx';
import { useApp } from './area.ts';
import { Link, useNavigate } from './link.tsx';
import { useSignOut } from './sign-out.ts';

/** The person who is signed in, and sign-out; sign-in without a session. */
export function AccountMenu() {
  const { t } = useTranslation(['common', 'navigation']);
  const { area, pages } = useApp();
  const navigate = useNavigate();
  const { data: session } = useQuery(sessionQuery(area));
  const signOut = useSignOut();
  if (session === undefined) return <span className="size-8" />;
  if (session === null)
    return (
      <Link to="/sign-in" className={buttonClass('primary', 'sm')}>
        {t('signIn')}
      </Link>
    );
  const more = session.kind === 'operator' ? t(`role.${session.role}`) : session.email;
  const items: readonly MenuItem[] = [
    { kind: 'note', label: more === null ? session.name : `${session.name} · ${more}` },
    { kind: 'line' },
    ...pages
      .filter(({ path }) => path === '/settings')
      .map(({ path }) => ({
        label: t('navigation:settings'),
        icon: 'gear' as const,
        onSelect: () => void navigate({ to: path }),
      })),
    { label: t('signOut'), icon: 'signOut', onSelect: signOut },
  ];
  return <Menu trigger={<IconButton icon="user" label={t('account')} />} items={items} />;
}
