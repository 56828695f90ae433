import { type ReactNode, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { keepFocus } from './focus.ts';

export interface PageProps {
  readonly title: string;
  /** Above the title: the way back to the list. */
  readonly back?: ReactNode;
  /** Beside the title: state, id. */
  readonly aside?: ReactNode;
  /** At the right: the range, the main button. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** The frame of a page: its heading, which takes the focus after navigation, and the document's title. */
export function Page({ title, back, aside, actions, children }: PageProps) {
  const { t } = useTranslation();
  const appName = t(`appName.${document.documentElement.dataset['area'] ?? 'dashboard'}`);
  useEffect(() => {
    document.title = `${title} · ${appName}`;
  }, [title, appName]);
  return (
    <div className="page mx-auto flex w-full max-w-290 flex-col gap-6 px-4 py-6 lg:px-8">
      <header className="flex flex-col gap-1">
        {back === undefined ? null : (
          <div className="text-sm text-muted print:hidden">
            <span aria-hidden="true">← </span>
            {back}
          </div>
        )}
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2 *:max-w-full">
          <h1 ref={keepFocus} tabIndex={-1} data-focus-target="" className="min-w-0 text-xl font-semibold">
            {title}
          </h1>
          {aside}
          <div className="flex-1" />
          <div className="flex flex-wrap items-center gap-x-3 gap-y-2 empty:hidden">{actions}</div>
        </div>
      </header>
      {children}
    </div>
  );
}

export interface SectionProps {
  readonly title: ReactNode;
  readonly note?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A part of a page with its heading. White space separates parts; there are no boxes. */
export function Section({ title, note, actions, children }: SectionProps) {
  return (
    <section className="flex min-w-0 flex-col gap-3">
      <div className="flex min-h-8 flex-wrap items-center gap-x-3 gap-y-1">
        <h2 className="text-lg font-semibold">{title}</h2>
        {note === undefined ? null : <p className="text-sm text-muted">{note}</p>}
        <div className="flex-1" />
        {actions}
      </div>
      {children}
    </section>
  );
}
