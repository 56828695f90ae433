import { useSyncExternalStore } from 'react';

export const themes = ['system', 'light', 'dark'] as const;
/** What a person chose; `system` follows the machine. */
export type Theme = (typeof themes)[number];

const storageKey = 'naru.theme';
const listeners = new Set<() => void>();

/** The chosen theme. `boot.js` applied it before the first paint. */
function currentTheme(): Theme {
  const stored = document.documentElement.dataset['theme'];
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

/** Applies and stores a theme. */
export function setTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  try {
    if (theme === 'system') localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, theme);
  } catch {
    // Storage is blocked: the choice lasts until the page closes.
  }
  for (const listener of listeners) listener();
}

/** The chosen theme, followed live. */
export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, currentTheme);
}
