import * as Popover from '@radix-ui/react-popover';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from './button.tsx';
import { classNames } from './class-names.ts';
import { Checkbox, Input } from './field.tsx';
import { Icon } from './icons.tsx';

/** One filter of a page: a name, and the values that rows may have. */
export interface Filter {
  /** The name of the search parameter in the URL. */
  readonly id: string;
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
}

/** The chosen values of each filter; a filter without values does not narrow. */
export type FilterValues = Readonly<Record<string, readonly string[]>>;

export interface FilterBarProps {
  readonly filters: readonly Filter[];
  readonly values: FilterValues;
  readonly onChange: (values: FilterValues) => void;
}

const minOptionsForSearch = 9;

/** The filters of a page, each a button with its chosen values. The page keeps the values in the URL. */
export function FilterBar({ filters, values, onChange }: FilterBarProps) {
  const { t } = useTranslation();
  const isFiltered = filters.some(({ id }) => (values[id]?.length ?? 0) > 0);
  return (
    <fieldset className="flex flex-wrap items-center gap-1.5">
      <legend className="sr-only">{t('filter.label')}</legend>
      {filters.map((filter) => (
        <FilterButton
          key={filter.id}
          filter={filter}
          chosen={values[filter.id] ?? []}
          onChange={(chosen) => onChange({ ...values, [filter.id]: chosen })}
        />
      ))}
      {isFiltered ? (
        <Button
          variant="quiet"
          size="sm"
          onClick={() => onChange(Object.fromEntries(filters.map(({ id }) => [id, []])))}
        >
          {t('filter.clear')}
        </Button>
      ) : null}
    </fieldset>
  );
}

function FilterButton(props: {
  filter: Filter;
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
}) {
  const { filter, chosen, onChange } = props;
  const { t } = useTranslation();
  const [search, setSearch] = useState('');
  const labelOf = (value: string): string =>
    filter.options.find((option) => option.value === value)?.label ?? value;
  // A value of the URL that no row has now must still be seen, and be removable.
  const missing = chosen
    .filter((value) => !filter.options.some((option) => option.value === value))
    .map((value) => ({ value, label: value }));
  const found = [...missing, ...filter.options].filter(({ label }) =>
    label.toLowerCase().includes(search.trim().toLowerCase()),
  );
  return (
    <Popover.Root onOpenChange={() => setSearch('')}>
      <Popover.Trigger
        className={classNames(
          'inline-flex h-7 max-w-80 items-center gap-1.5 rounded-md border px-2 text-sm hover:bg-hover',
          chosen.length === 0
            ? 'border-line text-muted'
            : 'border-accent/60 bg-accent-subtle text-accent-text',
        )}
      >
        <span className="truncate">
          {filter.label}
          {chosen.length === 0 ? null : (
            <>
              : <span className="font-medium">{labelOf(chosen[0] ?? '')}</span>
              {chosen.length > 1 ? ` +${chosen.length - 1}` : ''}
            </>
          )}
        </span>
        <Icon name="chevronDown" size={12} />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="start"
          sideOffset={4}
          collisionPadding={8}
          aria-label={filter.label}
          className="popup z-40 flex max-h-80 w-64 flex-col rounded-md bg-raised p-2 shadow-raised"
        >
          {filter.options.length < minOptionsForSearch ? null : (
            <Input
              type="search"
              aria-label={t('filter.search', { label: filter.label })}
              placeholder={t('filter.search', { label: filter.label })}
              value={search}
              onChange={({ target }) => setSearch(target.value)}
              className="mb-1"
            />
          )}
          <div className="min-h-0 overflow-y-auto text-sm">
            {found.length === 0 ? <p className="p-2 text-muted">{t('filter.none')}</p> : null}
            {found.map(({ value, label }) => (
              <Checkbox
                key={value}
                label={label}
                checked={chosen.includes(value)}
                onChange={({ target }) =>
                  onChange(target.checked ? [...chosen, value] : chosen.filter((one) => one !== value))
                }
                className="rounded-sm px-1.5 py-1 hover:bg-hover"
              />
            ))}
          </div>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
