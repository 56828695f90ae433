import type { z } from 'zod';
import type { Path } from './fault.ts';
import { hint } from './nearest.ts';
import type { Tree } from './read-yaml.ts';
import type { SourceMap } from './source-map.ts';
import { valueAt } from './tree.ts';

type Issue = z.core.$ZodIssue;

/** Reports the schema's issues as faults at their location in the file. */
export function addSchemaFaults(issues: readonly Issue[], tree: Tree, sourceMap: SourceMap): void {
  for (const issue of issues) {
    const path = issue.path.filter((step) => typeof step !== 'symbol');
    const value = valueAt(tree, path);
    if (issue.code === 'unrecognized_keys') {
      const known = issue.message.split(' ');
      for (const name of issue.keys) {
        sourceMap.add([...path, name], `unknown member${hint(name, known)}`, 'name');
      }
    } else if (value === undefined) sourceMap.add(path, missing(path, issue));
    else
      sourceMap.add(path, `${messageOf(issue, value)}${quote(issue, value, path, sourceMap)}`, atOf(issue));
  }
}

/** A value as quoted in a message, unless it is a secret. */
export function quoted(value: string, path: Path, sourceMap: SourceMap): string {
  if (sourceMap.isFromOutside(path)) return '';
  return `, not ${JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)}`;
}

function atOf(issue: Issue): 'name' | 'value' {
  return issue.code === 'invalid_key' ? 'name' : 'value';
}

function missing(path: Path, issue: Issue): string {
  if (path.length === 0) return 'the file is empty';
  return issue.code === 'invalid_value'
    ? `is missing: state one of ${issue.values.map(String).join(', ')}`
    : 'is missing';
}

function messageOf(issue: Issue, value: Tree): string {
  switch (issue.code) {
    case 'invalid_type':
      return value === null ? 'is empty' : `must be ${kindWanted(issue.expected)}, not ${kindOf(value)}`;
    case 'invalid_value':
      return oneOf(issue.values.map(String), value);
    case 'too_small':
      return 'needs at least one item';
    case 'invalid_key':
      return issue.issues[0]?.message ?? 'is not a valid name';
    default:
      return issue.message;
  }
}

function oneOf(message: readonly string[], value: Tree): string {
  return `must be ${message.length === 1 ? '' : 'one of '}${message.join(', ')}${typeof value === 'string' ? hint(value, message) : ''}`;
}

function quote(issue: Issue, value: Tree, path: Path, sourceMap: SourceMap): string {
  const mayQuote =
    issue.code === 'invalid_value' || (issue.code === 'custom' && issue.params?.['mayQuote'] === true);
  return mayQuote && typeof value === 'string' ? quoted(value, path, sourceMap) : '';
}

function kindWanted(expected: string): string {
  if (expected === 'array') return 'a list';
  return expected === 'string' ? 'a single value' : 'a mapping of members';
}

function kindOf(value: Tree): string {
  if (typeof value === 'string') return 'a single value';
  return Array.isArray(value) ? 'a list' : 'a mapping';
}
