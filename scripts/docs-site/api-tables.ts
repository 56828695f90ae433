import { type Language, words } from './api-text.ts';
import type { Parameter, Schema } from './openapi-form.ts';
import { fieldsOf, typeOf } from './schema-fields.ts';

/** The tables of an API reference, as Markdown. */

/** A table; empty without rows. A line break or a pipe in a cell does not end it. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

/** The fields of a body with their types and limits; empty for a body without fields. */
export function fieldTable(schema: Schema | undefined, language: Language): string {
  const say = (name: keyof typeof words): string => words[name][language];
  return table(
    [say('field'), say('type'), say('required'), say('meaning')],
    fieldsOf(schema ?? {}).map(({ path, type, isRequired, description }) => [
      `\`${path}\``,
      type,
      isRequired ? say('yes') : '',
      description,
    ]),
  );
}

/** The parameters of the path, the query and the header. */
export function parameterTable(parameters: readonly Parameter[], language: Language): string {
  const say = (name: keyof typeof words): string => words[name][language];
  return table(
    [say('field'), say('place'), say('type'), say('required'), say('meaning')],
    parameters.map(({ name, in: place, required, description = '', schema = {} }) => [
      `\`${name}\``,
      place,
      typeOf(schema),
      required === true ? say('yes') : '',
      description,
    ]),
  );
}
