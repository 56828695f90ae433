import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../src/store/connection.ts';
import { serverAddress } from './database.ts';

test('the database of the tests accepts as many connections as its runner configured', async () => {
  const client = await connect({ ...serverAddress(), database: 'postgres' });
  try {
    const { rows } = await client.query<{ max: string }>("SELECT current_setting('max_connections') AS max");
    assert.equal(rows[0]?.max, '300');
  } finally {
    await client.end();
  }
});
