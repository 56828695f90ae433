/*
 * Runs in a page: what leaves its container, what moved while it loaded, what is out of sight, and whose
 * ring of the focus is cut. A text may end where its cell, its list item or the page ends, and nowhere else.
 */
// biome-ignore lint/nursery/noFloatingPromises: the page that evaluates it waits for it.
(async () => {
  const faults = new Set();
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) faults.add(`the page has ${scrollWidth} px`);
  // An open dialog is all that can be used.
  const main = document.querySelector('[role=dialog]') ?? document.querySelector('main') ?? document.body;
  const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (node.textContent.trim() === '' || parent.closest('.sr-only, svg, [hidden]') !== null) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    let { left, right } = range.getBoundingClientRect();
    const container = parent.closest('td, th, li, dd, dt, figure, button, main') ?? main;
    for (let at = parent; at !== null && container.contains(at); at = at.parentElement) {
      if (getComputedStyle(at).overflowX === 'visible') continue;
      const clip = at.getBoundingClientRect();
      left = Math.max(left, clip.left);
      right = Math.min(right, clip.right);
    }
    const box = container.getBoundingClientRect();
    if (right > left && (right > box.right + 1 || left < box.left - 1))
      faults.add(`${container.tagName} of ${Math.round(box.width)} px: ${node.textContent.slice(0, 30)}`);
  }
  for (const cell of document.querySelectorAll('.pinned')) {
    const box = cell.getBoundingClientRect();
    const frame = cell.closest('.table-scroll').getBoundingClientRect();
    if (box.right > frame.right + 1 || box.left < frame.left - 1)
      faults.add(`out of sight: ${cell.textContent.slice(0, 30)}`);
  }
  const shifts = [];
  const observer = new PerformanceObserver((list) => shifts.push(...list.getEntries()));
  observer.observe({ type: 'layout-shift', buffered: true });
  // The entries so far come in a task of their own.
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  shifts.push(...observer.takeRecords());
  for (const element of document.querySelectorAll(
    'a, button, input, select, textarea, summary, [tabindex="0"]',
  )) {
    if (element.disabled || !element.checkVisibility({ visibilityProperty: true })) continue;
    element.focus();
    if (!element.matches(':focus-visible')) continue;
    const isRow = element.matches('.row-link');
    const box = (isRow ? element.closest('.linked-row') : element).getBoundingClientRect();
    const style = getComputedStyle(element, isRow ? '::after' : null);
    const ring = Number.parseFloat(style.outlineOffset) + Number.parseFloat(style.outlineWidth);
    const name = `${element.tagName} ${(element.ariaLabel ?? element.textContent).slice(0, 30)}`;
    if (style.outlineStyle === 'none') faults.add(`no ring: ${name}`);
    for (let at = element.parentElement; at !== document.body && at !== null; at = at.parentElement) {
      if (getComputedStyle(at).overflow === 'visible') continue;
      const clip = at.getBoundingClientRect();
      const across = [
        box.left - clip.left - at.clientLeft,
        clip.left + at.clientLeft + at.clientWidth - box.right,
      ];
      const down = [
        box.top - clip.top - at.clientTop,
        clip.top + at.clientTop + at.clientHeight - box.bottom,
      ];
      // What is larger than its window is scrolled to. Of a row the browser scrolls to the link alone.
      const isScrolled = box.height > at.clientHeight || (isRow && at.scrollHeight > at.clientHeight);
      const room = Math.min(...(box.width > at.clientWidth ? [] : across), ...(isScrolled ? [] : down));
      if (room > -3 && room < ring - 0.5) faults.add(`ring cut by ${at.className.slice(0, 30)}: ${name}`);
    }
  }
  return {
    faults: [...faults].slice(0, 8),
    shift: shifts.reduce((sum, { value }) => sum + value, 0),
    moved: shifts
      .flatMap(({ value, sources }) =>
        sources.map(({ node }) => `${value.toFixed(3)} ${node?.nodeName} ${node?.textContent.slice(0, 40)}`),
      )
      .slice(0, 6),
  };
})();
