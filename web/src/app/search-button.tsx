import { useTranslation } from 'react-i18next';
import { Icon } from '../ui/icons.tsx';

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Looks like an input and opens the palette. */
export function SearchButton({ onOpen }: { onOpen: () => void }) {
  const { t } = useTranslation();
  return (
    <button
      type="button"
      onClick={onOpen}
      className="flex h-8 items-center gap-2 rounded-md px-2 text-sm text-muted hover:bg-hover md:bg-subtle lg:-ml-2 lg:w-64"
    >
      <Icon name="search" />
      <span className="flex-1 text-left max-md:sr-only">{t('search')}</span>
      <span aria-hidden="true" className="text-xs max-lg:hidden">
        {isMac ? '⌘K' : 'Ctrl K'}
      </span>
    </button>
  );
}
