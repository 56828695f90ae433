import assert from 'node:assert/strict';
import { test } from 'node:test';
import { currentConnection, reportSession, reportSessionEnded } from '../../web/src/api/connection.ts';

test('a late response to a request from before the new sign-in does not end the session again', () => {
  const sentMs = performance.now();
  reportSessionEnded(sentMs);
  assert.equal(currentConnection().hasSessionEnded, true);
  reportSession();
  assert.equal(currentConnection().hasSessionEnded, false);
  reportSessionEnded(sentMs - 1);
  assert.equal(currentConnection().hasSessionEnded, false);
  reportSessionEnded(performance.now());
  assert.equal(currentConnection().hasSessionEnded, true);
});
