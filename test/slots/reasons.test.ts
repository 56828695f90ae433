/** The reasons of the states of slots: their words for the log, their codes for the pages. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readSlotReason, type SlotReasonCode, slotReason, slotReasons } from '../../src/slots/reasons.ts';

const codes = Object.keys(slotReasons) as SlotReasonCode[];

test('the code and the detail of a reason are read from its words', () => {
  for (const code of codes) {
    const detail = slotReasons[code].includes('{}') ? '0, 1' : '';
    assert.deepEqual(readSlotReason(slotReason(code, detail)), { code, detail });
  }
  assert.equal(readSlotReason('the engine exited with code 3: no such model'), null);
  assert.equal(readSlotReason('ready or not'), null);
});

test('the console has every reason in both languages, with its detail', () => {
  for (const language of ['ko', 'en']) {
    const file = join(import.meta.dirname, `../../web/src/i18n/${language}/slots.json`);
    const { why } = JSON.parse(readFileSync(file, 'utf8'));
    assert.deepEqual(Object.keys(why).toSorted(), codes.toSorted());
    for (const code of codes)
      assert.equal(why[code].includes('{{detail}}'), slotReasons[code].includes('{}'), code);
  }
});
