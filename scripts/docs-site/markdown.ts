/** Markdown of the repository: its headings, its sections and its links. */

/** Splits a text into code (fences and code spans) and what is between them. */
const codePattern = /^( *)(`{3,})[^\n]*\n[\s\S]*?^ *\2[^\n]*$|`+[^`\n]*`+/gm;

/** The text with every part that is not code changed by `change`. */
export function outsideCode(text: string, change: (part: string) => string): string {
  let end = 0;
  let changed = '';
  for (const code of text.matchAll(codePattern)) {
    changed += change(text.slice(end, code.index)) + code[0];
    end = code.index + code[0].length;
  }
  return changed + change(text.slice(end));
}

/** The anchor of a heading, as forges make it. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\s-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}

/** A heading of a page, with the line on which it is. */
export interface Heading {
  readonly line: number;
  readonly level: number;
  readonly text: string;
  readonly anchor: string;
}

/** The headings of a text in order; the second of one name has `-1` in its anchor. */
export function headingsOf(text: string): readonly Heading[] {
  const seen = new Map<string, number>();
  let fence = '';
  return text.split('\n').flatMap((content, line) => {
    const mark = /^ *(`{3,})/.exec(content)?.[1] ?? '';
    if (fence === '' ? mark !== '' : mark.startsWith(fence)) fence = fence === '' ? mark : '';
    const [, level, heading] = /^(#+) (.+)$/.exec(content) ?? [];
    if (fence !== '' || level === undefined || heading === undefined) return [];
    const name = anchorOf(heading);
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    const anchor = before === 0 ? name : `${name}-${before}`;
    return [{ line, level: level.length, text: heading, anchor }];
  });
}

/** A section of a page and the page without it. */
export interface Cut {
  readonly section: string;
  readonly rest: string;
}

/**
 * Cuts the section with an anchor out of a page: its heading becomes that of a page, and those below
 * it rise too. Throws when the page has no such heading.
 */
export function cutSection(text: string, anchor: string): Cut {
  const headings = headingsOf(text);
  const first = headings.find((heading) => heading.anchor === anchor);
  if (first === undefined) throw new Error(`no heading has the anchor ${anchor}`);
  const next = headings.find(({ line, level }) => line > first.line && level <= first.level);
  const lines = text.split('\n');
  const end = next?.line ?? lines.length;
  const inside = new Set(headings.map(({ line }) => line));
  const section = lines.slice(first.line, end).map((content, index) => {
    return inside.has(first.line + index) ? content.slice(first.level - 1) : content;
  });
  return {
    section: section.join('\n'),
    rest: [...lines.slice(0, first.line), ...lines.slice(end)].join('\n'),
  };
}

const linkPattern = /(\]\()((?!https?:|mailto:)[^)\s]+)(\))/g;

/** The text with every link to a file that does not exist replaced by its own text. */
export function withoutDeadLinks(text: string, exists: (file: string) => boolean): string {
  return outsideCode(text, (part) =>
    part.replaceAll(/\[([^\]]*)\]\(((?!https?:|mailto:|#)[^)\s#]+)[^)\s]*\)/g, (whole, label, file) =>
      exists(file) ? whole : label,
    ),
  );
}

/** The text with every link to another place of the repository replaced. */
export function replaceLinks(text: string, replace: (link: string) => string): string {
  return outsideCode(text, (part) =>
    part.replaceAll(linkPattern, (_all, head, link, tail) => `${head}${replace(link)}${tail}`),
  );
}
