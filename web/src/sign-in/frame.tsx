import { type ReactNode, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { Logo } from '../app/navigation.tsx';
import { LanguageMenu, ThemeMenu } from '../app/preference-menus.tsx';
import { Toasts } from '../ui/toast.tsx';

/** The frame of the pages before a session: one narrow column, and nothing else to do. */
export function SignInFrame({ title, children }: { title: string; children: ReactNode }) {
  const { t } = useTranslation();
  const appName = t(`appName.${document.documentElement.dataset['area'] ?? 'dashboard'}`);
  useEffect(() => {
    document.title = `${title} · ${appName}`;
  }, [title, appName]);
  return (
    <div className="flex min-h-dvh flex-col">
      <header className="flex h-12 items-center gap-1 px-4">
        <Logo />
        <div className="flex-1" />
        <LanguageMenu />
        <ThemeMenu />
      </header>
      <main id="main" className="mx-auto flex w-full max-w-90 flex-1 flex-col gap-5 px-4 pt-[12vh] pb-16">
        <h1 tabIndex={-1} data-focus-target="" className="text-xl font-semibold">
          {title}
        </h1>
        {children}
      </main>
      <Toasts />
    </div>
  );
}

/** Why an attempt failed, announced; nothing when none has. */
export function FormError({ children }: { children: ReactNode }) {
  return (
    <p role="alert" className="text-sm text-bad empty:hidden">
      {children}
    </p>
  );
}
