import { createContext, useContext } from 'react';
import type { Area, PageEntry } from './pages.ts';

/** What every part of the shell knows of the application that it is in. */
export interface AppContext {
  readonly area: Area;
  readonly pages: readonly PageEntry[];
}

const Context = createContext<AppContext | null>(null);
export const AppProvider = Context;

/** The application around a component. Throws outside of one. */
export function useApp(): AppContext {
  const app = useContext(Context);
  if (app === null) throw new Error('a component outside of the application');
  return app;
}
