import { Outlet, useRouter } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { IconButton } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Toasts } from '../ui/toast.tsx';
import { AccountMenu } from './account-menu.tsx';
import { Announcements } from './announcements.tsx';
import { useApp } from './area.ts';
import { useFocusOnNavigation } from './focus.ts';
import { useShortcuts } from './keyboard.ts';
import { Logo, NavList } from './navigation.tsx';
import { useOpenPages } from './open-pages.ts';
import { LanguageMenu, ThemeMenu } from './preference-menus.tsx';
import { StaleBanner } from './queries-age.tsx';
import { SearchButton } from './search-button.tsx';
import { ServerAwayBanner } from './server-away.tsx';
import { SessionEnded } from './session-ended.tsx';

const Palette = lazy(() =>
  import('./palette.tsx').then(({ Palette: component }) => ({ default: component })),
);

/** The frame of the application: navigation at the side, tools on top, the page, and what lies above it. */
export function Shell({ children = <Outlet /> }: { children?: ReactNode }) {
  const { t } = useTranslation();
  const { area } = useApp();
  const pages = useOpenPages();
  const router = useRouter();
  const [isDrawerOpen, setIsDrawerOpen] = useState(false);
  const [isPaletteOpen, setIsPaletteOpen] = useState(false);
  useFocusOnNavigation();
  useShortcuts(pages, () => setIsPaletteOpen(true));
  useEffect(() => router.subscribe('onBeforeNavigate', () => setIsDrawerOpen(false)), [router]);
  return (
    <div className="flex min-h-dvh">
      <button
        type="button"
        onClick={() => document.getElementById('main')?.focus()}
        className="fixed top-2 left-2 z-50 -translate-y-16 rounded-md bg-accent px-3 py-1.5 text-on-accent focus:translate-y-0"
      >
        {t('skipToContent')}
      </button>
      <aside className="sticky top-0 flex h-dvh w-58 shrink-0 flex-col gap-4 overflow-y-auto border-r bg-subtle px-3 py-4 max-lg:hidden">
        <Logo />
        <NavList label={t('navigation')} />
      </aside>
      <div className="flex min-w-0 flex-1 flex-col">
        <header className="sticky top-0 z-30 flex print:hidden h-12 items-center gap-1 border-b bg-bg px-4 lg:px-8">
          <div className="flex items-center gap-2 lg:hidden">
            <IconButton
              icon="menu"
              label={t('openNavigation')}
              onClick={() => setIsDrawerOpen(true)}
              className="-ml-2"
            />
            <Logo />
          </div>
          <SearchButton onOpen={() => setIsPaletteOpen(true)} />
          <div className="flex-1" />
          <LanguageMenu />
          <ThemeMenu />
          <AccountMenu />
        </header>
        <ServerAwayBanner />
        <StaleBanner />
        {area === 'dashboard' ? <Announcements /> : null}
        <main id="main" tabIndex={-1} data-focus-target="" className="min-w-0 flex-1 pb-16">
          {children}
        </main>
      </div>
      <Dialog isOpen={isDrawerOpen} onOpenChange={setIsDrawerOpen} title={<Logo />} placement="side">
        <NavList label={t('navigation')} />
      </Dialog>
      {isPaletteOpen ? (
        <Suspense fallback={null}>
          <Palette onClose={() => setIsPaletteOpen(false)} />
        </Suspense>
      ) : null}
      <SessionEnded />
      <Toasts />
    </div>
  );
}
