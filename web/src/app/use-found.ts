import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { type ResponseOf, read } from '../api/client.ts';
import { sessionQuery } from '../api/session.ts';
import type { IconName } from '../ui/icons.tsx';
import { useApp } from './area.ts';
import { hashInBrowser, plaintextForm } from './hash-in-browser.ts';
import type { Target } from './link.tsx';
import type { Area } from './pages.ts';

/** A thing that the server knows by what was typed. */
type FoundThing = ResponseOf<'GET /dashboard/api/search'>['items'][number];

/** How long nothing is typed before the server is asked. */
const pauseMs = 200;

/** What the server finds for a text. A later text aborts the read of an earlier one; nobody who has not signed in finds anything. */
export function useFound(search: string) {
  const { area } = useApp();
  const { data: session } = useQuery(sessionQuery(area));
  const wanted = search.trim();
  const [text, setText] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setText(wanted), pauseMs);
    return () => clearTimeout(timer);
  }, [wanted]);
  const isEnabled = session !== null && session !== undefined && text !== '';
  const found = useQuery({
    queryKey: ['palette', area, text] as const,
    queryFn: async ({ signal }) => {
      // A whole key never leaves the browser; where it cannot be hashed, nothing is found.
      const sent = plaintextForm.test(text) ? await hashInBrowser(text) : text;
      if (sent === null) return { items: [] };
      const call = { query: { text: sent }, signal };
      return area === 'dashboard'
        ? read('GET /dashboard/api/search', call)
        : read('GET /console/api/search', call);
    },
    enabled: isEnabled,
    retry: false,
  });
  const isTyping = session !== null && text !== wanted;
  return {
    items: isTyping || !isEnabled ? [] : (found.data?.items ?? []),
    isSearching: isTyping || (isEnabled && found.isFetching),
    error: isTyping || !isEnabled ? null : found.error,
  };
}

/** The page of a thing. */
export function placeOf(area: Area, { kind, id, account_id: account }: FoundThing): Target {
  if (area === 'dashboard') {
    if (kind === 'model') return { to: `/models/${id}` as `/models/${string}/${string}` };
    if (kind === 'app') return { to: `/apps/${id}` };
    return { to: kind === 'management' ? '/management-keys' : '/keys', search: { search: id } };
  }
  if (kind === 'model') return { to: '/prices', search: { model: id } };
  if (kind === 'app') return { to: `/accounts/${account}`, search: { tab: 'requests', app: id } };
  return { to: kind === 'account' ? `/accounts/${id}` : `/keys/${id}` };
}

/** The word for what a thing is, a key of the common texts, and its icon. */
export const thingKinds: Readonly<
  Record<FoundThing['kind'], { readonly label: string; readonly icon: IconName }>
> = {
  account: { label: 'palette.kind.account', icon: 'users' },
  inference: { label: 'palette.kind.key', icon: 'key' },
  management: { label: 'palette.kind.managementKey', icon: 'shield' },
  model: { label: 'palette.kind.model', icon: 'model' },
  app: { label: 'palette.kind.app', icon: 'apps' },
};
