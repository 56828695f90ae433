import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { inheritedVariables } from '../../src/config/schema-slots.ts';
import { createInstallation } from '../cli/naru.ts';
import { eventually } from '../harness/until.ts';

const secret = 'ENGINE-MUST-NOT-SEE-7c1d';

// security:41
test('an engine inherits no variable, no open file and no configuration of ours', async (t) => {
  const installation = createInstallation();
  t.after(() => installation.remove());
  process.env['NARU_TEST_SECRET'] = secret;
  process.env['PGPASSWORD'] = secret;
  t.after(() => {
    delete process.env['NARU_TEST_SECRET'];
    delete process.env['PGPASSWORD'];
  });
  const seen = join(installation.folder, 'seen');
  const look = `{ env; echo; for f in /proc/$$/fd/*; do readlink $f; done; cat /proc/$$/cmdline; } > ${seen}.new 2>/dev/null; mv ${seen}.new ${seen}; exec sleep 300 # {port}`;
  const file = installation.configure({
    providers: [
      { slug: 'p', name: 'P', dialect: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: secret },
    ],
    slots: [{ name: 'spy', command: ['/bin/sh', '-c', look], env: { OWN: 'given' } }],
    models: [
      {
        id: 'test/spy',
        name: 'Spy',
        context_length: 1024,
        price: { prompt: 0, completion: 0, currency: 'KRW', per: 'token' },
        candidates: [{ slot: 'spy' }],
      },
    ],
  });
  const serving = await installation.up('--config', file);
  t.after(() => serving.stop());
  const starting = installation.run('slot', 'start', 'spy');
  const text = await eventually('the engine to look around', 30_000, () =>
    existsSync(seen) ? readFileSync(seen, 'utf8') : null,
  );
  assert.doesNotMatch(text, new RegExp(secret));
  const [env = '', files = ''] = text.split('\n\n');
  const names = env.split('\n').map((line) => line.split('=')[0] ?? '');
  assert.ok(names.includes('OWN') && names.includes('PATH'));
  const ofShell = ['PWD', 'SHLVL', '_', 'OLDPWD'];
  assert.deepEqual(
    names.filter((name) => ![...inheritedVariables, 'OWN', ...ofShell].includes(name)),
    [],
  );
  assert.doesNotMatch(files, /journal|naru\.lock|\.log|sqlite/);
  await serving.stop();
  await starting;
});
