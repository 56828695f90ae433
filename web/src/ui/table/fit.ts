import { type PointerEvent, type RefObject, useLayoutEffect } from 'react';

const focusable = 'a, button, input, select, [tabindex]';

/**
 * What a table needs to know of its own widths, measured after each rendering and at each new width:
 * whether it is wider than its window, where its pinned columns then stay, and which texts are cut. A
 * row with a cut text and nothing else that takes the focus takes it there: a row with the focus
 * shows its texts whole.
 */
export function useFit(ref: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    if (ref.current !== null) fit(ref.current);
  });
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => fit(element));
    observer.observe(element);
    return () => observer.disconnect();
  }, [ref]);
}

function fit(element: HTMLElement): void {
  const texts = [...element.querySelectorAll<HTMLElement>('.cell-text > *')];
  const cut = new Set(texts.filter(isCut));
  const isWide = element.scrollWidth > element.clientWidth;
  const heads = [...element.querySelectorAll<HTMLElement>('thead th')];
  const widths = heads.map(({ offsetWidth, classList }) => (classList.contains('pinned') ? offsetWidth : 0));
  element.toggleAttribute('data-wide', isWide);
  let right = 0;
  for (let index = widths.length - 1; index >= 0; index -= 1) {
    element.style.setProperty(`--pin-${index}`, `${right}px`);
    right += widths[index] ?? 0;
  }
  const reached = new Set<Element | null>();
  for (const text of texts) {
    text.toggleAttribute('data-cut', cut.has(text));
    text.removeAttribute('tabindex');
    if (!cut.has(text)) continue;
    const row = text.closest('tr, li');
    if (reached.has(row) || row?.querySelector(focusable) !== null) continue;
    text.tabIndex = 0;
    reached.add(row);
  }
}

function isCut(text: HTMLElement): boolean {
  return [text, ...text.querySelectorAll('p, li, div, .truncate')].some(
    ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth,
  );
}

/** The whole of a cut text below the pointer, also where the link of the row lies above it. */
export function titleOfCut({ clientX, clientY, target }: PointerEvent): void {
  if (!(target instanceof HTMLElement)) return;
  const below = document.elementsFromPoint(clientX, clientY).find((one) => one.matches('[data-cut]'));
  const holder = target.closest<HTMLElement>('.row-link, [data-cut]');
  if (holder !== null) holder.title = below?.textContent ?? '';
}
