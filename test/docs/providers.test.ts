import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { providersFile, providersPage } from '../../scripts/providers.ts';
import { providerVariants } from '../../src/config/variants.ts';
import { rulesOf } from '../../src/dialects/openai/providers.ts';

const page = readFileSync(providersFile, 'utf8');

test('docs/providers.md has the rules of every API, and no other', () => {
  assert.equal(page, providersPage(page), 'run `node scripts/providers.ts` with the Node of the project');
  for (const variant of providerVariants) assert.match(page, new RegExp(`\\| \`${variant}\` \\|`));
  // The comparison can fail, both ways.
  const stale = page.replace('`random_seed`', '`seeds`');
  assert.notEqual(stale, page);
  assert.equal(providersPage(stale), page);
  assert.throws(
    () => providersPage(page.replace('<!-- table: families -->', '')),
    /lacks the tables families/,
  );
  assert.throws(() => providersPage(page.replace('table: families', 'table: family')), /no table family/);
});

test('every known API names its documentation', () => {
  for (const variant of providerVariants.filter((name) => name !== 'generic'))
    assert.match(rulesOf(variant).documentation, /^https:\/\//, variant);
});
