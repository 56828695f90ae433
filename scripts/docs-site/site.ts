import { existsSync, readFileSync } from 'node:fs';
import { dirname, extname, join, posix, relative } from 'node:path';
import { parse } from 'yaml';
import { generatedFiles } from './generated.ts';
import { cutSection, headingsOf, replaceLinks } from './markdown.ts';
import { addressOf, type PageEntry, pageGroups } from './pages.ts';

/** The whole site as texts: what `npm run docs` writes and VitePress builds. */

const root = join(import.meta.dirname, '../..');
const generated = generatedFiles();
const read = (file: string): string => generated.get(file) ?? readFileSync(join(root, file), 'utf8');

/** An entry of the side bar. */
export interface SidebarEntry {
  readonly text: string;
  readonly link?: string;
  readonly collapsed?: boolean;
  readonly items?: readonly SidebarEntry[];
}

/** Everything that is built. */
export interface Site {
  /** The text of each page, by its address without an extension. */
  readonly pages: ReadonlyMap<string, string>;
  /** Files of the repository that pages link or show, which are served as they are. */
  readonly files: ReadonlySet<string>;
  readonly sidebar: readonly SidebarEntry[];
  /** Links without a target, as `FILE: LINK`; empty for a site that may be built. */
  readonly deadLinks: readonly string[];
}

/** A page before its links are replaced. */
interface Piece {
  readonly address: string;
  readonly source: string;
  readonly text: string;
  readonly anchors: ReadonlySet<string>;
}

/** Reads the pages. */
export function readSite(): Site {
  const pieces = pageGroups.flatMap(({ pages }) => pages).map(pieceOf);
  const links = new Links(pieces);
  const pages = new Map(pieces.map((piece) => [piece.address, links.replacedIn(piece)]));
  for (const [address, text] of pages) if (address.startsWith('ko/')) pages.set(address, inKorean(text));
  pages.set('index', homeText());
  return { pages, files: links.files, sidebar: sidebarOf(), deadLinks: links.dead };
}

/** A page with its language: browsers break lines and read aloud by it. */
function inKorean(text: string): string {
  return `<div lang="ko">\n\n${text}\n\n</div>\n`;
}

/** The sections of a file that are pages of their own. */
function sectionsOf(file: string): readonly string[] {
  return pageGroups
    .flatMap(({ pages }) => pages)
    .map(({ source }) => source.split('#'))
    .flatMap(([name, anchor]) => (name === file && anchor !== undefined ? [anchor] : []));
}

function pieceOf(entry: PageEntry): Piece {
  const [source = '', anchor] = entry.source.split('#');
  const file = source.startsWith('docs/runbook.') ? withRules(source, read(source)) : read(source);
  const text =
    anchor === undefined
      ? sectionsOf(source).reduce((rest, section) => cutSection(rest, section).rest, file)
      : cutSection(file, anchor).section;
  const anchors = new Set(headingsOf(text).map((heading) => heading.anchor));
  return { address: addressOf(entry), source, text, anchors };
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
}

/**
 * A runbook with the severity of each alert below its heading; the English one also has its
 * expression. Throws for a rule without an entry.
 */
function withRules(source: string, runbook: string): string {
  const { groups }: { readonly groups: readonly { readonly rules: readonly Rule[] }[] } = parse(
    read('deploy/prometheus/naru.rules.yml'),
  );
  return groups
    .flatMap(({ rules }) => rules)
    .reduce((text, rule) => {
      const heading = `## ${rule.alert}\n`;
      if (!text.includes(heading)) throw new Error(`${source} has no entry ${rule.alert}`);
      const lasting = rule.for === undefined ? '' : `, for ${rule.for}`;
      const expression = source.endsWith('.ko.md') ? '' : `:\n\n\`\`\`\n${rule.expr.trim()}\n\`\`\``;
      const shown = `\`${rule.labels.severity}\`${lasting}${expression}\n`;
      return text.replace(heading, () => `${heading}\n${shown}`);
    }, runbook);
}

/** Links between files of the repository, as links between pages of the site. */
class Links {
  readonly files = new Set<string>();
  readonly dead: string[] = [];
  readonly #bySource: ReadonlyMap<string, readonly Piece[]>;

  constructor(pieces: readonly Piece[]) {
    this.#bySource = Map.groupBy(pieces, ({ source }) => source);
  }

  /** The text of a page for the site; also links the pages that it names as code. */
  replacedIn(piece: Piece): string {
    const text = replaceLinks(piece.text, (link) => {
      const target = this.#targetOf(link, piece);
      if (target === null) this.dead.push(`${piece.source}: ${link}`);
      return target ?? link;
    });
    return linkedCode(text, (file) => {
      const [target] = this.#bySource.get(file) ?? [];
      return target === undefined || target.source === piece.source ? null : linkTo(piece, target, '');
    });
  }

  #targetOf(link: string, from: Piece): string | null {
    const [path = '', anchor = ''] = link.split('#');
    const file = path === '' ? from.source : posix.normalize(posix.join(dirname(from.source), path));
    const pieces = this.#bySource.get(file.replace(/\/$/, '/README.md'));
    if (pieces === undefined) {
      if (anchor !== '' || extname(file) === '.md' || !existsSync(join(root, file))) return null;
      this.files.add(file);
      return `/${file}`;
    }
    const hasAnchor = ({ anchors }: Piece): boolean => anchors.has(anchor);
    // The page of a section has the anchor as that of its title.
    const target = anchor === '' ? pieces.find((each) => !isSection(each)) : pieces.find(hasAnchor);
    return target === undefined ? null : linkTo(from, target, anchor);
  }
}

function isSection({ address }: Piece): boolean {
  return pageGroups.some(({ pages }) =>
    pages.some((entry) => addressOf(entry) === address && entry.source.includes('#')),
  );
}

function linkTo(from: Piece, to: Piece, anchor: string): string {
  const path = relative(dirname(from.address), to.address);
  return `${path.startsWith('.') ? path : `./${path}`}.md${anchor === '' ? '' : `#${anchor}`}`;
}

/** Code spans that name a page become links, outside fences, headings and other links. */
function linkedCode(text: string, linkOf: (file: string) => string | null): string {
  let inFence = false;
  return text
    .split('\n')
    .map((line) => {
      if (line.trimStart().startsWith('```')) inFence = !inFence;
      if (inFence || line.startsWith('#')) return line;
      return line.replaceAll(/(?<!\[)`([\w./-]+\.md)`(?!\])/g, (code, file: string) => {
        const link = linkOf(file);
        return link === null ? code : `[${code}](${link})`;
      });
    })
    .join('\n');
}

/** The groups of tasks are closed until a reader opens them. */
function sidebarOf(): readonly SidebarEntry[] {
  return pageGroups.map(({ title, pages }) => ({
    text: title,
    collapsed: pages.length > 12,
    items: pages.map((entry) => ({ text: entry.title, link: `/${addressOf(entry)}` })),
  }));
}

/** The first page: where each reader begins. */
function homeText(): string {
  const [, title = '', tagline = ''] = /^# (.+)\n\n(.+)\n/.exec(read('README.md')) ?? [];
  const cards = pageGroups.map(({ title: name, pages }) => ({
    title: name,
    details: pages.map((entry) => entry.title).join(', '),
    link: `/${pages[0] === undefined ? '' : addressOf(pages[0])}`,
  }));
  const front = {
    layout: 'home',
    hero: {
      name: title,
      text: tagline,
      actions: [
        { theme: 'brand', text: 'Quick start', link: '/quick-start' },
        { theme: 'alt', text: 'Overview', link: '/overview' },
        { theme: 'alt', text: '빠른 시작', link: '/ko/quick-start' },
      ],
    },
    features: cards,
  };
  return `---\n${JSON.stringify(front)}\n---\n`;
}
