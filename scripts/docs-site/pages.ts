import { globSync } from 'node:fs';
import { join } from 'node:path';

/** The pages of the site: each is a Markdown file of the repository, or a section of one. */

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
  /** Whether the group is closed until a reader opens it. */
  readonly closed?: true;
  readonly pages: readonly PageEntry[];
}

const page = (title: string, source: string, address?: string): PageEntry =>
  address === undefined ? { title, source } : { title, source, address };

const internals = [
  ...globSync('src/*/README.md', { cwd: root }).sort(),
  'test/sim/README.md',
  'web/README.md',
];

/** The navigation in order, by what a reader is there for. */
export const pageGroups: readonly PageGroup[] = [
  {
    title: 'Start',
    pages: [
      page('Quick start', 'README.md#quick-start', 'quick-start'),
      page('Overview', 'README.md', 'overview'),
      page('Compared with others', 'docs/comparison.md'),
      page('Installing a release', 'docs/installing.md'),
      page('Changelog', 'CHANGELOG.md'),
    ],
  },
  {
    title: 'Concepts',
    pages: [
      page('Glossary', 'docs/glossary.md'),
      page('What Naru promises', 'docs/spec/README.md'),
      page('Money', 'docs/spec/money.md'),
      page('Limits and errors', 'docs/spec/limits-and-errors.md'),
    ],
  },
  {
    title: 'For operators',
    pages: [
      page('Operating', 'docs/operating.md'),
      page('Providers', 'docs/providers.md'),
      page('nginx, systemd, containers', 'deploy/README.md', 'deploy'),
      page('Kubernetes', 'deploy/k8s/README.md', 'kubernetes'),
      page('Runbook', 'docs/runbook.md'),
      page('Lost nodes', 'docs/lost-nodes.md'),
      page('Traces', 'docs/tracing.md'),
      page('Datasets', 'docs/datasets.md'),
      page('Scale', 'docs/scale.md'),
      page('Security', 'SECURITY.md'),
      page('What the console promises', 'docs/spec/operator.md'),
    ],
  },
  {
    title: 'For developers',
    pages: [
      page('Calling models', 'docs/guides/developer.md', 'developer'),
      page('Works with', 'docs/works-with.md'),
      page('What the API promises', 'docs/spec/api.md'),
      page('Compatibility', 'docs/spec/api-compat.md'),
      page('The demo engine', 'docs/demo-engine.md'),
    ],
  },
  {
    title: 'For account owners',
    pages: [
      page('The dashboard', 'docs/guides/account-owner.md', 'account-owner'),
      page('계정 소유자 안내', 'docs/guides/account-owner.ko.md', 'ko/account-owner'),
    ],
  },
  {
    title: 'Reference',
    pages: [
      page('Configuration', 'docs/configuration.md'),
      page('Example configuration', 'naru.example.yaml', 'example-configuration'),
      page('Metrics', 'docs/operating.md#metrics', 'metrics'),
      page('Commands', 'docs/operating.md#commands', 'commands'),
    ],
  },
  {
    title: 'Evidence',
    closed: true,
    pages: [
      page('Reliability', 'docs/reliability.md'),
      page('Performance', 'docs/performance.md'),
      page('Measurements', 'bench/RESULTS.md', 'measurements'),
      page('Which tests show what', 'docs/evidence.md'),
      page('Statements of conformance', 'docs/spec/conformance.md'),
    ],
  },
  {
    title: 'For contributors',
    closed: true,
    pages: [
      page('Contributing', 'CONTRIBUTING.md'),
      page('Architecture', 'ARCHITECTURE.md'),
      page('What all pages share', 'docs/pages-conventions.md'),
      page('Slots', 'src/slots/design.md'),
      page('Kubernetes schemas', 'test/docs/kubernetes-schemas/README.md'),
      ...internals.map((file) => page(file.slice(0, -'/README.md'.length), file)),
    ],
  },
  {
    title: 'Decisions',
    closed: true,
    pages: [
      page('All decisions', 'docs/decisions/README.md'),
      ...globSync('docs/decisions/*.md', { cwd: root })
        .filter((file) => !file.endsWith('README.md'))
        .sort()
        .map((file) => page(file.slice('docs/decisions/'.length, -'.md'.length), file)),
    ],
  },
];

/** The address of a page below the base of the site, without an extension. */
export function addressOf({ source, address }: PageEntry): string {
  return (
    address ??
    source
      .toLowerCase()
      .replace(/^docs\//, '')
      .replace(/readme\.md$/, 'index')
      .replace(/\.md$/, '')
  );
}
