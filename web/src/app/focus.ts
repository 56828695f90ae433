import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';

/** After a navigation to another path the heading of the new page has the focus, so that a screen reader reads it. */
export function useFocusOnNavigation(): void {
  const router = useRouter();
  useEffect(
    () =>
      router.subscribe('onRendered', ({ pathChanged, fromLocation }) => {
        if (!pathChanged || fromLocation === undefined) return;
        // A menu closes when it loses the focus: one that was opened while the page loaded keeps it.
        if (document.activeElement?.closest('[role=menu]')) return;
        const heading = document.querySelector<HTMLElement>('main h1');
        (heading ?? document.getElementById('main'))?.focus({ preventScroll: true });
      }),
    [router],
  );
}

let hadFocus = false;

/** The `ref` of a heading: where data replaces a page by another one, its heading takes over the focus. */
export function keepFocus(heading: HTMLElement | null): () => void {
  if (hadFocus && document.activeElement === document.body) heading?.focus({ preventScroll: true });
  hadFocus = false;
  return () => {
    hadFocus = document.activeElement === heading;
  };
}
