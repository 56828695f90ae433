import { useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { type Range, type RangeKind, rangeKinds } from '../format/range.ts';
import { startOfDay } from '../format/time.ts';
import { type Search, useNavigate } from './link.tsx';

/** How one search parameter is read and written. What cannot be read becomes its default. */
export interface Param<T> {
  readonly read: (raw: readonly string[]) => T;
  /** Nothing for the default, so that URLs stay short. */
  readonly write: (value: T) => readonly string[];
}

/** The search parameters of a page, by name. Made once, outside of components. */
export type SearchSchema<Values> = { readonly [Name in keyof Values]: Param<Values[Name]> };

/** A text; empty unless stated. */
export function text(): Param<string> {
  return { read: ([first = '']) => first, write: (value) => (value === '' ? [] : [value]) };
}

/** One of some words. */
export function oneOf<const T extends string>(words: readonly T[], initial: T): Param<T> {
  return {
    read: ([first]) => words.find((word) => word === first) ?? initial,
    write: (value) => (value === initial ? [] : [value]),
  };
}

/** Several values of one name: `?model=a&model=b`. */
export function list(): Param<readonly string[]> {
  return { read: (raw) => raw, write: (value) => value };
}

/** Yes or no. */
export function flag(): Param<boolean> {
  return { read: ([first]) => first === '1', write: (value) => (value ? ['1'] : []) };
}

/** An order of a table: `cost` or `-cost`; empty is none. */
export function sortParam(initial = ''): Param<string> {
  return { read: ([first = initial]) => first, write: (value) => (value === initial ? [] : [value]) };
}

/** Reads URL search parameters; the router calls it. */
export function parseSearch(search: string): Record<string, string | string[]> {
  const found: Record<string, string | string[]> = {};
  const params = new URLSearchParams(search);
  for (const name of new Set(params.keys())) {
    const values = params.getAll(name);
    found[name] = values.length === 1 ? (values[0] ?? '') : values;
  }
  return found;
}

/** Writes URL search parameters; the router calls it. */
export function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value === undefined || value === null || value === '') continue;
    for (const one of Array.isArray(value) ? value : [value]) params.append(name, String(one));
  }
  const written = params.toString();
  return written === '' ? '' : `?${written}`;
}

/** Filters that survive moving from page to page. */
const sharedNames = ['range', 'from', 'to', 'model', 'provider', 'app', 'key'] as const;

/** What a link to another page keeps of the present filters. */
export function sharedSearch(search: Search): Search {
  return Object.fromEntries(sharedNames.flatMap((name) => (name in search ? [[name, search[name]]] : [])));
}

/** The search parameters of the page, typed by its schema, and a function that changes some of them. */
export function useSearchParams<Values extends object>(
  schema: SearchSchema<Values>,
): readonly [Values, (changes: Partial<Values>) => void] {
  const raw: Search = useSearch({ strict: false });
  const navigate = useNavigate();
  const values = useMemo(() => readAll(schema, raw), [raw, schema]);
  const change = useCallback(
    (changes: Partial<Values>) => {
      const written = writeAll(schema, changes);
      void navigate({
        to: '.',
        search: (before) => ({ ...before, ...written }),
        replace: true,
        resetScroll: false,
      });
    },
    [navigate, schema],
  );
  return [values, change];
}

function readAll<Values extends object>(schema: SearchSchema<Values>, raw: Search): Values {
  const read = paramsOf(schema).map(([name, param]) => [name, param.read(valuesOf(raw[name]))]);
  return Object.fromEntries(read) as Values;
}

/** The changed parameters as the URL has them; undefined takes one away. */
function writeAll<Values extends object>(
  schema: SearchSchema<Values>,
  changes: Partial<Values>,
): Record<string, string | readonly string[] | undefined> {
  const written = paramsOf(schema).flatMap(([name, param]) => {
    if (!(name in changes)) return [];
    const texts = param.write(changes[name as keyof Values] as never);
    return [[name, texts.length > 1 ? texts : texts[0]] as const];
  });
  return Object.fromEntries(written);
}

function paramsOf(schema: object): readonly (readonly [string, Param<never>])[] {
  return Object.entries(schema);
}

const rangeSchema: SearchSchema<{ range: RangeKind; from: string; to: string }> = {
  range: oneOf<RangeKind>(rangeKinds, '30d'),
  from: text(),
  to: text(),
};

/** The range of time that all pages share, from the URL; 30 days unless chosen. */
export function useRange(): readonly [Range, (range: Range) => void] {
  const [{ range, from, to }, change] = useSearchParams(rangeSchema);
  const value = useMemo((): Range => {
    if (range !== 'custom') return { range };
    return startOfDay(from) === null || startOfDay(to) === null ? { range: '30d' } : { range, from, to };
  }, [range, from, to]);
  const set = useCallback(
    (next: Range) => change({ range: next.range, from: next.from ?? '', to: next.to ?? '' }),
    [change],
  );
  return [value, set];
}

function valuesOf(raw: string | readonly string[] | undefined): readonly string[] {
  if (raw === undefined) return [];
  return typeof raw === 'string' ? [raw] : raw;
}
