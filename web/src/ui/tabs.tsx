import * as RadixTabs from '@radix-ui/react-tabs';
import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';

export interface Tab<Value extends string> {
  readonly value: Value;
  readonly label: ReactNode;
  readonly content: ReactNode;
}

export interface TabsProps<Value extends string> {
  readonly label: string;
  readonly tabs: readonly Tab<Value>[];
  readonly value?: Value;
  readonly onChange?: (value: Value) => void;
}

/** Views of one thing. Keep the value in the URL where the view is worth a link. */
export function Tabs<Value extends string>({ label, tabs, value, onChange }: TabsProps<Value>) {
  const first = tabs[0]?.value;
  return (
    <RadixTabs.Root
      {...(value === undefined
        ? { ...(first === undefined ? {} : { defaultValue: first }) }
        : { value, onValueChange: (next: string) => onChange?.(next as Value) })}
    >
      <RadixTabs.List
        aria-label={label}
        className="flex gap-5 overflow-x-auto shadow-[inset_0_-1px_0_var(--border)]"
      >
        {tabs.map((tab) => (
          <RadixTabs.Trigger
            key={tab.value}
            value={tab.value}
            className="shrink-0 border-b-2 border-transparent py-1.5 text-sm font-medium text-muted hover:text-text data-[state=active]:border-accent data-[state=active]:text-text"
          >
            {tab.label}
          </RadixTabs.Trigger>
        ))}
      </RadixTabs.List>
      {tabs.map((tab) => (
        <RadixTabs.Content key={tab.value} value={tab.value} className="pt-4">
          {tab.content}
        </RadixTabs.Content>
      ))}
    </RadixTabs.Root>
  );
}

export interface SegmentedProps<Value extends string> {
  readonly label: string;
  readonly options: readonly { readonly value: Value; readonly label: ReactNode }[];
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}

/** A few exclusive choices side by side: a metric, a granularity. */
export function Segmented<Value extends string>({ label, options, value, onChange }: SegmentedProps<Value>) {
  return (
    <fieldset className="inline-flex max-w-full flex-wrap rounded-md bg-hover p-0.5">
      <legend className="sr-only">{label}</legend>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
          className={classNames(
            'h-7 shrink-0 rounded-sm px-2.5 text-sm whitespace-nowrap',
            option.value === value ? 'bg-bg font-medium text-text' : 'text-muted hover:text-text',
          )}
        >
          {option.label}
        </button>
      ))}
    </fieldset>
  );
}
