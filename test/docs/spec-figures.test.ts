/* The tables and figures of `docs/spec/` are those of the code. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { specificationPages } from '../../scripts/docs-site/specification.ts';
import { defaultConfig } from '../../src/config/load.ts';
import { catalogue, errorTypeOf, type Failure, statusOf } from '../../src/errors/catalogue.ts';
import { appRankingsShape } from '../../src/wire/shapes/datasets.ts';
import { keyInformationShape, keyShape } from '../../src/wire/shapes/keys.ts';
import { endpointsShape, modelsShape, providersShape } from '../../src/wire/shapes/models.ts';

const pages = new Map(specificationPages().map((page) => [page.name, page]));

/**
 * The text of a statement of the page, from its number to the next statement or section, on one
 * line.
 */
function statement(page: string, number: string): string {
  const text = pages.get(page)?.text ?? '';
  const from = text.indexOf(`**${number}** `);
  assert.ok(from >= 0, `spec:${page}/${number}`);
  const rest = text.slice(from);
  const end = rest.slice(1).search(/^(?:- |\| |#)/m);
  return rest.slice(0, end < 0 ? undefined : end).replaceAll(/\s+/g, ' ');
}

test('the table of statuses and error types is the catalogue', () => {
  const rows = pages.get('errors')?.text.matchAll(/^\| \*\*2\.\d+\*\* \| (\d+) \| `(\w+)` \|/gm) ?? [];
  const stated = [...rows].map(([, status, errorType]) => `${status} ${errorType}`);
  const failures = Object.keys(catalogue) as Failure[];
  const pairs = failures.map((failure) => `${statusOf(failure)} ${errorTypeOf(failure)}`);
  assert.equal(new Set(stated).size, stated.length);
  assert.deepEqual([...stated].sort(), [...new Set(pairs)].sort());
});

test("the specification's retry statements are in the catalogue", () => {
  const output = statement('errors', '4.6').match(/`\w+`/g) ?? [];
  const failures = Object.keys(catalogue) as Failure[];
  // A request that every candidate rejected has its own statement: spec:errors/3.11.
  const retried = failures.filter((failure) => catalogue[failure].retry).map(errorTypeOf);
  assert.deepEqual(output.map((name) => name.slice(1, -1)).sort(), [...new Set(retried)].sort());
});

test('the figures of the specification are the defaults', () => {
  const { limits, keys } = defaultConfig();
  const seconds = (ms: number): string => `${ms / 1000} s`;
  const grouped = (count: number): string => count.toLocaleString('en-US');
  const figures: readonly (readonly [page: string, number: string, figure: string])[] = [
    ['money', '6.2', grouped(Number(limits.debtFloorKrw / 1_000_000n))],
    ['errors', '7.1', `${grouped(Number(limits.debtFloorKrw / 1_000_000n))} won`],
    ['errors', '7.3', `${limits.requestsPerSecond} per second, burst of ${limits.burst}`],
    ['errors', '7.4', seconds(limits.upstreamTimeoutMs)],
    ['errors', '7.5', `${grouped(limits.bodyBytes)} bytes`],
    ['errors', '8.1', seconds(limits.upstreamTimeoutMs)],
    ['errors', '8.2', seconds(limits.connectTimeoutMs)],
    ['errors', '8.3', `${seconds(limits.fallbackStreamMs)} for a stream`],
    ['errors', '8.3', `${seconds(limits.fallbackWholeMs)} for a whole response`],
    ['errors', '8.5', seconds(limits.streamIdleTimeoutMs)],
    ['api', '15.8', seconds(limits.keepAliveCommentMs)],
    ['api', '2.4', `\`${keys.prefix}\``],
  ];
  for (const [page, number, figure] of figures)
    assert.ok(statement(page, number).includes(figure), `spec:${page}/${number} states ${figure}`);
});

/**
 * The members that statements name: words of lower-case letters between backticks, `byok_usage`
 * with its three periods.
 */
function namesIn(page: string, numbers: readonly string[]): ReadonlySet<string> {
  const names = numbers.flatMap((number) =>
    [...statement(page, number).matchAll(/`([a-z_]\w*)`/g)].map(([, name = '']) => name),
  );
  const periods = ['daily', 'weekly', 'monthly'].map((period) => `byok_usage_${period}`);
  return new Set(names.includes('byok_usage') ? [...names, ...periods] : names);
}

test('the members that the specification lists are those of the shapes', () => {
  const model = modelsShape.shape.data.element.shape;
  const endpoint = endpointsShape.shape.data.shape.endpoints.element.shape;
  const provider = providersShape.shape.data.element.shape;
  const app = appRankingsShape.shape.data.element.shape;
  const lists: readonly (readonly [
    page: string,
    numbers: readonly string[],
    shape: object,
    other: string[],
  ])[] = [
    ['compat', ['7.2'], model, []],
    ['compat', ['8.1'], endpoint, ['discount']],
    ['compat', ['12.1'], provider, []],
    ['api', Array.from({ length: 12 }, (_, index) => `18.${index + 6}`), app, ['upstream', 'fixture']],
  ];
  for (const [page, numbers, shape, other] of lists)
    assert.deepEqual(
      [...namesIn(page, numbers)].sort(),
      [...Object.keys(shape), ...other].sort(),
      `spec:${page}`,
    );
  const ofKey = Array.from({ length: 12 }, (_, index) => `5.${index + 1}`);
  const key = new Set([
    ...namesIn('api', ofKey),
    ...namesIn('api', ['21.1']),
    ...namesIn('compat', ['10.1']),
  ]);
  const information = new Set([...namesIn('api', ['9.2', '9.3']), ...namesIn('compat', ['10.2'])]);
  const unstated = (shape: object, names: ReadonlySet<string>): readonly string[] =>
    Object.keys(shape).filter((name) => !names.has(name));
  assert.deepEqual(unstated(keyShape.shape, key), []);
  assert.deepEqual(unstated(keyInformationShape.shape, information), []);
});
