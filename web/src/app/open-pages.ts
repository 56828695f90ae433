import { useQuery } from '@tanstack/react-query';
import { sessionQuery } from '../api/session.ts';
import { useApp } from './area.ts';
import type { PageEntry } from './pages.ts';

/** The pages that lead somewhere for this person: nobody who has not signed in sees the others. */
export function useOpenPages(): readonly PageEntry[] {
  const { area, pages } = useApp();
  const { data: session } = useQuery(sessionQuery(area));
  return session === null ? pages.filter(({ access }) => access === 'public') : pages;
}
