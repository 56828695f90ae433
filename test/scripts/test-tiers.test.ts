import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { withMoreInFullTier } from '../../scripts/test-tiers.ts';

test('the rest of the full tier is what decides by the tier, directly or not, its own files and the checks', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'naru-tiers-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const files = {
    'test/harness/tier.ts': '',
    'test/harness/property.ts': "import { testSeed } from './tier.ts';",
    'test/harness/one.ts': "export { two } from './two.ts';",
    'test/harness/two.ts': "import './one.ts';\nimport { check } from './property.ts';",
    'test/a/direct.test.ts': "import { byTier } from '../harness/tier.ts';",
    'test/a/cycle.test.ts': "import {\n  two,\n} from '../harness/one.ts';",
    'test/a/late.test.ts': "await import('../harness/property.ts');",
    'test/a/plain.test.ts':
      "import { test } from 'node:test';\nimport { x } from '../../src/harness/tier.ts';",
    'test/a/slow.full.test.ts': '',
    'test/docs/checks.test.ts': '',
  };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  const tests = Object.keys(files).filter((file) => file.endsWith('.test.ts'));
  const plain = 'test/a/plain.test.ts';
  assert.deepEqual(
    withMoreInFullTier(root, tests),
    tests.filter((file) => file !== plain),
  );
});
