import { useState } from 'react';

/** What a person set for one table, kept in the browser. */
export interface TableSettings {
  readonly hidden: readonly string[];
  readonly pageSize: number;
}

export const pageSizes = [25, 50, 100] as const;

/** The settings of the table `id`, kept in this browser; `initial` until they are changed. */
export function useTableSettings(
  id: string,
  initial: TableSettings,
): readonly [TableSettings, (settings: TableSettings) => void] {
  const [settings, setSettings] = useState(() => read(id) ?? initial);
  const change = (next: TableSettings): void => {
    setSettings(next);
    try {
      localStorage.setItem(storageKey(id), JSON.stringify(next));
    } catch {
      // Storage is blocked: the settings last until the page closes.
    }
  };
  return [settings, change];
}

function storageKey(id: string): string {
  return `naru.table.${id}`;
}

function read(id: string): TableSettings | null {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storageKey(id)) ?? 'null');
    return isSettings(stored) ? stored : null;
  } catch {
    return null;
  }
}

function isSettings(value: unknown): value is TableSettings {
  if (typeof value !== 'object' || value === null || !('hidden' in value) || !('pageSize' in value))
    return false;
  return (
    Array.isArray(value.hidden) &&
    value.hidden.every((id) => typeof id === 'string') &&
    typeof value.pageSize === 'number'
  );
}
