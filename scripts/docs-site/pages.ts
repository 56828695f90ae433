import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { headingsOf } from './markdown.ts';

/**
 * The pages of the site, which are those that a release has: for operators, developers and account
 * owners. What contributors read stays in the repository. Each page is a Markdown file, or a section
 * of one.
 */

const root = join(import.meta.dirname, '../..');

/** An entry of the navigation. */
export interface PageEntry {
  readonly title: string;
  /** A file of the repository; `FILE#ANCHOR` is a section of it, which is a page of its own. */
  readonly source: string;
  /** The address, where it does not follow from the file. */
  readonly address?: string;
}

/** A group of the navigation. */
export interface PageGroup {
  readonly title: string;
  readonly pages: readonly PageEntry[];
}

const page = (title: string, source: string, address?: string): PageEntry =>
  address === undefined ? { title, source } : { title, source, address };

/** Each task is a page; a Korean one has the address of the English one, below `ko/`. */
function taskPages(source: string, below: string): readonly PageEntry[] {
  const english = sectionsIn('docs/tasks.md');
  return sectionsIn(source).map(({ text, anchor }, index) =>
    page(text, `${source}#${anchor}`, `${below}tasks/${english[index]?.anchor}`),
  );
}

function sectionsIn(file: string): readonly { readonly text: string; readonly anchor: string }[] {
  return headingsOf(readFileSync(join(root, file), 'utf8')).filter(({ level }) => level === 2);
}

/** The navigation in order, by what a reader is there for. */
export const pageGroups: readonly PageGroup[] = [
  {
    title: 'Start',
    pages: [
      page('Quick start of a service', 'docs/quick-start.md'),
      page('Production checklist', 'docs/checklist.md'),
      page('Sizing', 'docs/scale.md'),
      page('Installing a release', 'docs/installing.md'),
      page('Overview', 'README.md', 'overview'),
    ],
  },
  { title: 'Tasks', pages: [page('All tasks', 'docs/tasks.md'), ...taskPages('docs/tasks.md', '')] },
  {
    title: 'In operation',
    pages: [
      page('Runbook', 'docs/runbook.md'),
      page('Lost nodes', 'docs/lost-nodes.md'),
      page('How Naru runs', 'docs/operating.md'),
      page('nginx, containers, watching', 'deploy/README.md', 'deploy'),
      page('Kubernetes', 'deploy/k8s/README.md', 'kubernetes'),
      page('Traces', 'docs/tracing.md'),
      page('Datasets', 'docs/datasets.md'),
      page('Security', 'SECURITY.md'),
    ],
  },
  {
    title: 'Reference',
    pages: [
      page('Configuration', 'docs/configuration.md'),
      page('Commands', 'docs/commands.md'),
      page('Metrics', 'docs/operating.md#metrics', 'metrics'),
      page('Providers', 'docs/providers.md'),
    ],
  },
  {
    title: 'For users',
    pages: [
      page('Calling models', 'docs/guides/developer.md', 'developer'),
      page('Works with', 'docs/works-with.md'),
      page('The dashboard', 'docs/guides/account-owner.md', 'account-owner'),
    ],
  },
  {
    title: '한국어',
    pages: [
      page('서비스 빠른 시작', 'docs/quick-start.ko.md', 'ko/quick-start'),
      page('운영 작업', 'docs/tasks.ko.md', 'ko/tasks'),
      ...taskPages('docs/tasks.ko.md', 'ko/'),
      page('장애 대응서', 'docs/runbook.ko.md', 'ko/runbook'),
      page('개발자 안내', 'docs/guides/developer.ko.md', 'ko/developer'),
      page('계정 소유자 안내', 'docs/guides/account-owner.ko.md', 'ko/account-owner'),
    ],
  },
];

/** The files of the pages, each once. */
export const pageFiles: readonly string[] = [
  ...new Set(pageGroups.flatMap(({ pages }) => pages).map(({ source }) => source.replace(/#.*/, ''))),
];

/** The address of a page below the base of the site, without an extension. */
export function addressOf({ source, address }: PageEntry): string {
  return (
    address ??
    source
      .toLowerCase()
      .replace(/^docs\//, '')
      .replace(/\.md$/, '')
  );
}
