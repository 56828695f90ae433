import { useEffect } from 'react';
import { useNavigate } from './link.tsx';
import type { PageEntry } from './pages.ts';
import { sharedSearch } from './search-params.ts';

/** How long after `g` the letter of a page counts. */
const chordMs = 1_200;

/** Command-K or Control-K opens the palette, `/` searches, `g` and a letter open a page. */
export function useShortcuts(pages: readonly PageEntry[], openPalette: () => void): void {
  const navigate = useNavigate();
  useEffect(() => {
    let chordUntilMs = 0;
    const onKey = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && !event.altKey && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        openPalette();
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target) || isModalOpen()) return;
      const isChord = event.timeStamp < chordUntilMs;
      chordUntilMs = 0;
      if (isChord) {
        // The letter of the key, so that a Korean keyboard layout works too.
        const letter = event.code.startsWith('Key') ? event.code.slice(3).toLowerCase() : event.key;
        const page = pages.find(({ nav }) => nav?.shortcut === letter);
        if (page === undefined) return;
        event.preventDefault();
        void navigate({ to: page.path, search: sharedSearch });
      } else if (event.key === '/') {
        event.preventDefault();
        search(openPalette);
      } else if (event.code === 'KeyG' && !event.shiftKey) {
        chordUntilMs = event.timeStamp + chordMs;
      }
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [pages, navigate, openPalette]);
}

/** The search of the page if it has one, else the palette. */
function search(openPalette: () => void): void {
  const input = document.querySelector<HTMLInputElement>('main input[type="search"]');
  if (input === null) openPalette();
  else input.focus();
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.closest('input:not([type="checkbox"]), textarea, select') !== null)
  );
}

function isModalOpen(): boolean {
  return document.querySelector('[data-modal="open"]') !== null;
}
