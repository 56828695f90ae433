import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { providersPage } from '../../scripts/docs-site/providers.ts';
import { providerVariants } from '../../src/config/variants.ts';
import { rulesOf } from '../../src/dialects/openai/providers.ts';

test('the page of providers has the rules of every API', () => {
  const page = readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8');
  const text = providersPage(page);
  for (const variant of providerVariants) assert.match(text, new RegExp(`\\| \`${variant}\` \\|`));
});

test('every known API names its documentation', () => {
  for (const variant of providerVariants.filter((name) => name !== 'generic'))
    assert.match(rulesOf(variant).documentation, /^https:\/\//, variant);
});
