import * as RadixDialog from '@radix-ui/react-dialog';
import { useId, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { wordsOfError } from '../api/errors.ts';
import { changeLanguage } from '../i18n/i18n.ts';
import { useLanguage } from '../i18n/use-format.ts';
import { classNames } from '../ui/class-names.ts';
import { useFocusReturn } from '../ui/dialog.tsx';
import { Icon, type IconName } from '../ui/icons.tsx';
import { useApp } from './area.ts';
import { type Target, useNavigate } from './link.tsx';
import { useOpenPages } from './open-pages.ts';
import { themeIcons } from './preference-menus.tsx';
import { sharedSearch } from './search-params.ts';
import { setTheme, themes } from './theme.ts';
import { placeOf, thingKinds, useFound } from './use-found.ts';

interface Command {
  readonly id: string;
  readonly label: string;
  readonly group: string;
  readonly icon: IconName;
  readonly shortcut?: string;
  /** Tells things of one name apart. */
  readonly detail?: string;
  readonly run: () => void;
}

/** Everything that can be opened or switched, found by typing. A combobox with a list. */
export function Palette({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation(['common', 'navigation']);
  const listId = useId();
  const focus = useFocusReturn();
  const [search, setSearch] = useState('');
  const [active, setActive] = useState(0);
  const language = useLanguage();
  const things = useFound(search);
  const commands = useCommands(search);
  // What is found last stands last, so that nothing moves under the hand of who presses Enter.
  const found = [
    ...commands.filter(({ label, group }) => matches(`${label} ${group}`, search)),
    ...useThings(things.items),
  ];
  const current = Math.min(active, found.length - 1);
  const run = (command: Command | undefined): void => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  return (
    <RadixDialog.Root open onOpenChange={onClose}>
      <RadixDialog.Portal>
        <div className="fixed inset-0 z-40 bg-overlay" />
        <RadixDialog.Content
          data-modal="open"
          {...focus}
          aria-describedby={undefined}
          className="popup fixed inset-x-3 top-[12vh] z-50 mx-auto flex max-h-[70vh] max-w-140 flex-col rounded-lg bg-raised shadow-raised focus:outline-none"
        >
          <RadixDialog.Title className="sr-only">{t('search')}</RadixDialog.Title>
          <div className="flex items-center gap-2 border-b px-4">
            <Icon name="search" className="text-muted" />
            <input
              role="combobox"
              aria-expanded="true"
              aria-controls={listId}
              aria-activedescendant={found.length === 0 ? undefined : `${listId}-${current}`}
              aria-label={t('search')}
              placeholder={t('palette.placeholder')}
              value={search}
              onChange={({ target }) => {
                setSearch(target.value);
                setActive(0);
              }}
              onKeyDown={(event) => {
                // Enter that ends the composition of a Korean syllable chooses nothing.
                if (event.nativeEvent.isComposing) return;
                if (event.key === 'Enter') run(found[current]);
                else if (event.key === 'ArrowDown') setActive((current + 1) % Math.max(1, found.length));
                else if (event.key === 'ArrowUp')
                  setActive((current + found.length - 1) % Math.max(1, found.length));
                else return;
                event.preventDefault();
              }}
              className="h-11 w-full bg-transparent outline-none"
            />
          </div>
          <div
            id={listId}
            role="listbox"
            aria-label={t('palette.results')}
            className="min-h-0 overflow-y-auto p-2"
          >
            {found.map((command, index) => (
              <Result
                key={command.id}
                id={`${listId}-${index}`}
                command={command}
                isActive={index === current}
                hasHeading={found[index - 1]?.group !== command.group}
                onPoint={() => setActive(index)}
                onRun={() => run(command)}
              />
            ))}
          </div>
          <p
            role="status"
            className={classNames(
              'px-4 pb-3 text-sm text-muted',
              found.length > 0 && !things.isSearching && things.error === null && 'sr-only',
            )}
          >
            {things.isSearching
              ? t('palette.searching')
              : things.error !== null
                ? t('palette.failed', { reason: wordsOfError(things.error, language, t) })
                : found.length === 0
                  ? t('palette.none')
                  : t('palette.count', { count: found.length })}
          </p>
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}

function Result(props: {
  id: string;
  command: Command;
  isActive: boolean;
  hasHeading: boolean;
  onPoint: () => void;
  onRun: () => void;
}) {
  const { command, isActive } = props;
  return (
    <>
      {props.hasHeading ? (
        <div role="presentation" className="px-2 pt-2 pb-1 text-xs text-muted">
          {command.group}
        </div>
      ) : null}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the input above has the keys. */}
      <div
        id={props.id}
        role="option"
        aria-selected={isActive}
        tabIndex={-1}
        ref={(element) => {
          if (isActive) element?.scrollIntoView({ block: 'nearest' });
        }}
        onPointerMove={props.onPoint}
        onClick={props.onRun}
        className={classNames(
          'flex h-8 cursor-pointer items-center gap-2 rounded-md px-2',
          isActive && 'bg-hover',
        )}
      >
        <Icon name={command.icon} className="text-muted" />
        <span dir="auto" className="min-w-0 flex-1 truncate text-left">
          {command.label}
        </span>
        {command.detail === undefined ? null : (
          <span dir="auto" className="max-w-1/2 truncate text-xs text-muted">
            {command.detail}
          </span>
        )}
        {command.shortcut === undefined ? null : (
          <kbd className="text-xs text-muted">G {command.shortcut.toUpperCase()}</kbd>
        )}
      </div>
    </>
  );
}

/** The things that the server found, each of which opens its page. */
function useThings(items: ReturnType<typeof useFound>['items']): readonly Command[] {
  const { t } = useTranslation();
  const { area } = useApp();
  const navigate = useNavigate();
  return items.map((thing): Command => {
    const { label, icon } = thingKinds[thing.kind];
    return {
      id: `${thing.kind}-${thing.account_id}-${thing.id}`,
      label: thing.name,
      group: t(label),
      icon,
      ...(thing.detail === '' || thing.detail === thing.name ? {} : { detail: thing.detail }),
      run: () => void navigate(placeOf(area, thing)),
    };
  });
}

function useCommands(search: string): readonly Command[] {
  const { t } = useTranslation(['common', 'navigation']);
  const pages = useOpenPages();
  const navigate = useNavigate();
  const language = useLanguage();
  return useMemo(() => {
    const open = (
      path: Target['to'],
      group: string,
      more: Pick<Command, 'id' | 'label' | 'icon'>,
    ): Command => ({
      ...more,
      group,
      run: () => void navigate({ to: path, search: sharedSearch }),
    });
    return [
      ...pages.flatMap(({ typed }): readonly Command[] => {
        const path = typed?.pathOf(search.trim()) ?? null;
        if (typed === undefined || path === null) return [];
        const label = t(typed.label, { search: search.trim() });
        return [open(path, t('palette.go'), { id: path, label, icon: typed.icon })];
      }),
      ...pages.flatMap(({ path, nav }): readonly Command[] =>
        nav === undefined
          ? []
          : [
              {
                ...open(path, t('palette.pages'), {
                  id: path,
                  label: t(`navigation:${nav.label}`),
                  icon: nav.icon,
                }),
                ...(nav.shortcut === undefined ? {} : { shortcut: nav.shortcut }),
              },
            ],
      ),
      ...themes.map(
        (theme): Command => ({
          id: `theme-${theme}`,
          label: t(`theme.${theme}`),
          group: t('theme.label'),
          icon: themeIcons[theme],
          run: () => setTheme(theme),
        }),
      ),
      {
        id: 'language',
        label: language === 'ko' ? 'English' : '한국어',
        group: t('language'),
        icon: 'globe',
        run: () => void changeLanguage(language === 'ko' ? 'en' : 'ko'),
      },
    ];
  }, [t, pages, navigate, language, search]);
}

function matches(text: string, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const folded = text.toLowerCase();
  return words.every((word) => folded.includes(word));
}
