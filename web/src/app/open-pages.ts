import { useQuery } from '@tanstack/react-query';
import { sessionQuery } from '../api/session.ts';
import { useApp } from './area.ts';
import type { PageEntry } from './pages.ts';

/** The pages that this person may open: without sign-in, only the public ones. */
export function useOpenPages(): readonly PageEntry[] {
  const { area, pages } = useApp();
  const { data: session } = useQuery(sessionQuery(area));
  return session === null ? pages.filter(({ access }) => access === 'public') : pages;
}
