/**
 * The specification in `docs/spec/` and the citations of it. `docs/spec/README.md` describes the
 * form of both.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'docs/spec');
/** All hand-written files of the repository. */
const written = ['**/*.{css,html,js,json,mjs,mts,md,conf,py,sh,sql,ts,yaml,yml}', '.ci/*'];

/** A page of the specification: its name in citations, its file, and its citable numbers. */
export interface SpecificationPage {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  /** The numbers of its sections, in order. */
  readonly sections: readonly string[];
  /** The numbers of its statements, in order. */
  readonly statements: readonly string[];
}

/** One number of a citation, with its location. */
export interface Citation {
  readonly file: string;
  readonly line: number;
  readonly page: string;
  readonly number: string;
}

/** The pages that the table of `docs/spec/README.md` names. */
export function specificationPages(): readonly SpecificationPage[] {
  const index = readFileSync(join(folder, 'README.md'), 'utf8');
  return [...index.matchAll(/^\| `([a-z]+)` \| \[([a-z-]+\.md)\]/gm)].map(([, name = '', file = '']) => {
    const text = readFileSync(join(folder, file), 'utf8');
    const numbers = (pattern: RegExp): readonly string[] =>
      [...text.matchAll(pattern)].map(([, number = '']) => number);
    return {
      name,
      file,
      text,
      sections: numbers(/^## (\d+) /gm),
      statements: numbers(/^(?:- |\| )\*\*(\d+(?:\.\d+)?)\*\*/gm),
    };
  });
}

/** The files that may contain citations, relative to the repository. */
export function writtenFiles(): readonly string[] {
  // `web/dist` is built, perhaps while these files are read.
  const exclude = ['node_modules', '.git', '.naru', '.cache', 'web/dist'];
  return written.flatMap((pattern) => globSync(pattern, { cwd: root, exclude })).sort();
}

/** The text of a file of `writtenFiles`. */
export function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

const citation = /\bspec:([a-z]+)\/(\d+(?:\.\d+)?(?:-\d+(?:\.\d+)?)?(?:,\d+(?:\.\d+)?(?:-\d+(?:\.\d+)?)?)*)/g;

/** Every citation in a text, one for each number; ranges are expanded. */
export function citationsIn(file: string, text: string): readonly Citation[] {
  return text
    .split('\n')
    .flatMap((content, index) =>
      [...content.matchAll(citation)].flatMap(([, page = '', numbers = '']) =>
        numbersOf(numbers).map((number) => ({ file, line: index + 1, page, number })),
      ),
    );
}

/** `1,5,157-175` as single numbers. A range of statements is within one section: `3.1-3.3`. */
export function numbersOf(list: string): readonly string[] {
  return list.split(',').flatMap((part) => {
    const [from = '', to = from] = part.split('-');
    const section = from.includes('.') ? `${from.split('.')[0]}.` : '';
    const first = Number(from.slice(section.length));
    const last = Number(to.slice(section.length));
    return Array.from({ length: last - first + 1 }, (_, index) => `${section}${first + index}`);
  });
}
