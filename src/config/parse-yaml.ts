import { type Document, type LineCounter, parseDocument, type Scalar, type YAMLError } from 'yaml';
import type { SourceMap } from './source-map.ts';

const tooDeep = 'the file is nested too deeply';

/**
 * Parses YAML with every scalar as text; null when it is not YAML, and then `sourceMap` has the
 * faults. Fills `lines`.
 */
export function parseYaml(text: string, lines: LineCounter, sourceMap: SourceMap): Document.Parsed | null {
  const document = documentOf(hideVariables(text), lines);
  if (document === null) sourceMap.addAt(0, [], tooDeep);
  else addSyntaxFaults([...document.errors, ...document.warnings], lines, sourceMap);
  return sourceMap.faults().length === 0 ? document : null;
}

/** The characters of a scalar in the file, without quotes and escapes. */
export function sourceOf(scalar: Scalar): string {
  return showVariables(scalar.source ?? String(scalar.value));
}

function documentOf(text: string, lineCounter: LineCounter): Document.Parsed | null {
  try {
    return parseDocument(text, {
      lineCounter,
      prettyErrors: false,
      schema: 'failsafe',
      uniqueKeys: false,
      logLevel: 'error',
    });
  } catch (thrown) {
    if (thrown instanceof RangeError) return null;
    throw thrown;
  }
}

/** One fault per line: later ones on a line are mostly consequences of the first. */
function addSyntaxFaults(errors: readonly YAMLError[], lines: LineCounter, sourceMap: SourceMap): void {
  const reported = new Set<number>();
  for (const error of errors) {
    const { line } = lines.linePos(error.pos[0]);
    if (!reported.has(line)) sourceMap.addAt(error.pos[0], [], messageOf(error));
    reported.add(line);
  }
}

/*
 * Inside { } and [ ] YAML would parse the braces of ${NAME}. They are replaced during parsing by
 * characters of the same length, so that no offset changes.
 */
function hideVariables(text: string): string {
  return text.replaceAll(/\$\{([A-Za-z_]\w*)\}/g, '$\uE000$1\uE001');
}

function showVariables(text: string): string {
  return text.replaceAll(/\$\uE000([A-Za-z_]\w*)\uE001/g, (_all, name: string) => `$\{${name}}`);
}

function messageOf(error: YAMLError): string {
  switch (error.code) {
    case 'TAB_AS_INDENT':
      return 'YAML does not allow tabs for indentation: use spaces';
    case 'MULTIPLE_DOCS':
      return 'a configuration is one YAML document: remove the second ---';
    case 'TAG_RESOLVE_FAILED':
      return 'tags (!name) are not supported';
    case 'RESOURCE_EXHAUSTION':
      return tooDeep;
    default:
      // The parser's message quotes the text, which may be a credential.
      return `not YAML: ${error.message.replace(/( in YAML stream)?: .*/s, '').toLowerCase()}`;
  }
}
