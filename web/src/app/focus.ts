import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';

/** After a navigation to another path the heading of the new page has the focus, so that a screen reader reads it. */
export function useFocusOnNavigation(): void {
  const router = useRouter();
  useEffect(
    () =>
      router.subscribe('onRendered', ({ pathChanged, fromLocation }) => {
        if (!pathChanged || fromLocation === undefined) return;
        const heading = document.querySelector<HTMLElement>('main h1');
        (heading ?? document.getElementById('main'))?.focus({ preventScroll: true });
      }),
    [router],
  );
}
