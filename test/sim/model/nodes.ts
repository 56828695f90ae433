import { amountsOf, numbersOf } from './arrays.ts';
import { normalized, Selection, type Statement } from './statement.ts';
import type { Tables } from './tables.ts';
import { ServerError, type Transaction } from './transactions.ts';

const lostMs = 5_000;
const seenInFuture = "seen_at > clock_timestamp() + interval '1000 milliseconds'";

function shareKey(kind: number, subject: number, nodeId: number): string {
  return `${kind}/${subject}/${nodeId}`;
}

function sharesWhere(tx: Transaction, holds: (nodeId: number) => boolean): readonly string[] {
  return [...tx.rows('spend_share')].filter(([, row]) => holds(row.node_id)).map(([key]) => key);
}

function sharesOf(tx: Transaction, nodeId: number, accounts: readonly number[]): readonly string[] {
  return [...tx.rows('spend_share')]
    .filter(([, row]) => row.node_id === nodeId && accounts.includes(row.account_id))
    .map(([key]) => key);
}

function isKeyOf(tx: Transaction, account: unknown, id: unknown): boolean {
  return tx.get('api_key', String(id))?.account_id === Number(account);
}

/** A statement that deletes the shares of nodes. */
function dropping(
  text: string,
  nodes: (tx: Transaction, value: unknown) => (id: number) => boolean,
): Statement {
  return {
    text,
    locks: (tx, [value]) => sharesWhere(tx, nodes(tx, value)).map((key) => `share ${key}`),
    run: (tx, [value]) => {
      for (const key of sharesWhere(tx, nodes(tx, value))) tx.delete('spend_share', key);
      return [];
    },
  };
}

function nodesWhere(tx: Transaction, holds: (row: Tables['gateway_node']) => boolean): readonly string[] {
  return [...tx.rows('gateway_node')].filter(([, row]) => holds(row)).map(([key]) => key);
}

function isSeenInFuture(tx: Transaction, { seen_at }: Tables['gateway_node']): boolean {
  return seen_at > tx.store.now() + 1_000;
}

function deletingNodes(
  text: string,
  holds: (tx: Transaction, value: unknown) => Parameters<typeof nodesWhere>[1],
): Statement {
  return {
    text,
    locks: (tx, [value]) => nodesWhere(tx, holds(tx, value)).map((key) => `node ${key}`),
    run: (tx, [value]) => {
      for (const key of nodesWhere(tx, holds(tx, value))) tx.delete('gateway_node', key);
      return [];
    },
  };
}

const silentMs = '(extract(epoch FROM now() - seen_at) * 1000)::float8';
const holders = new Selection({
  session: 'session',
  process: 'process',
  address: 'address',
  seenAtMs: 'seen_at',
  silentMs,
});
const nodeColumns = {
  id: 'n.id',
  address: 'address',
  startedAtMs: 'started_at',
  silentMs,
  knows: 'knows',
  home: 'home',
  edition: 'edition',
  differences: 'differences',
};
const nodes = new Selection(nodeColumns);
const beats = new Selection({ ...nodeColumns, isOwn: 'beat.id IS NOT NULL' });

function nodeOf(tx: Transaction, row: Tables['gateway_node'], isOwn = false): object {
  return beats.of(row, {
    id: BigInt(row.id),
    silentMs: tx.nowMs - row.seen_at,
    knows: BigInt(row.knows),
    edition: row.edition === null ? null : BigInt(row.edition),
    isOwn,
  });
}

/** The statements about changes, nodes and shares. */
export const nodeStatements: readonly Statement[] = [
  { text: 'LISTEN naru_change', run: () => [] },
  {
    text: "SELECT to_regclass('pg_dist_shard') IS NOT NULL AS distributes",
    run: () => [{ distributes: false }],
  },
  {
    text: 'INSERT INTO change_event (topic, subject) VALUES ($1, $2)',
    run: (tx, [topic, subject]) => {
      const id = tx.store.nextNumber('change_event');
      const { number } = tx;
      tx.put('change_event', String(id), { id, topic: String(topic), subject: Number(subject), tx: number });
      return [];
    },
  },
  {
    text: 'INSERT INTO change_event (topic, subject) SELECT $1, subject FROM unnest($2::bigint[]) s (subject)',
    run: (tx, [topic, subjects]) => {
      for (const subject of numbersOf(subjects)) {
        const id = tx.store.nextNumber('change_event');
        tx.put('change_event', String(id), { id, topic: String(topic), subject, tx: tx.number });
      }
      return [];
    },
  },
  {
    text: 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
    run: (tx) => [{ now: tx.store.now() }],
  },
  {
    text: 'SELECT pg_notify($1, $2)',
    run: (tx, [channel, payload]) => {
      tx.notices.push({ channel: String(channel), payload: String(payload) });
      return [{}];
    },
  },
  {
    text: 'SELECT pg_current_snapshot()::text AS seen',
    run: (tx) => [{ seen: tx.store.snapshot() }],
  },
  {
    text: normalized(`SELECT now.seen AS now, late.id, late.topic, late.subject FROM (SELECT pg_current_snapshot()::text AS seen) now
      LEFT JOIN (
        SELECT id, topic, subject FROM (
          SELECT id, topic, subject FROM change_event
          WHERE tx >= pg_snapshot_xmax($1::pg_snapshot) AND tx < pg_snapshot_xmax(pg_current_snapshot())
          UNION ALL
          SELECT id, topic, subject FROM change_event WHERE tx = ANY (ARRAY(SELECT pg_snapshot_xip($1::pg_snapshot)))
        ) unseen WHERE id > $2 ORDER BY id LIMIT 1000
      ) late ON true ORDER BY late.id`),
    run: (tx, [seen, after]) => {
      const [, most = '', underway = ''] = String(seen).split(':');
      const unfinished = new Set(underway.split(','));
      const late = [...tx.rows('change_event')]
        .map(([, row]) => row)
        .filter((row) => row.id > Number(after) && (row.tx >= Number(most) || unfinished.has(String(row.tx))))
        .sort((a, b) => a.id - b.id)
        .slice(0, 1000)
        .map(({ id, topic, subject }) => ({ id: BigInt(id), topic, subject: BigInt(subject) }));
      const now = tx.store.snapshot();
      return late.length === 0 ? [{ now, id: null }] : late.map((row) => ({ now, ...row }));
    },
  },
  {
    text: 'SELECT generation_id AS id FROM quarantined_settlement WHERE generation_id = ANY($1::text[])',
    run: () => [],
  },
  {
    text: 'SELECT id FROM database_identity',
    run: () => [{ id: '00000000-0000-4000-8000-0000000000db' }],
  },
  {
    text: `UPDATE gateway_node SET seen_at = clock_timestamp() WHERE home = $1::uuid AND ${seenInFuture}`,
    locks: (tx, [home]) =>
      nodesWhere(tx, (row) => row.home === home && isSeenInFuture(tx, row)).map((key) => `node ${key}`),
    run: (tx, [home]) => {
      for (const [key, row] of [...tx.rows('gateway_node')])
        if (row.home === home && isSeenInFuture(tx, row))
          tx.put('gateway_node', key, { ...row, seen_at: tx.store.now() });
      return [];
    },
  },
  {
    text: `SELECT ${holders.text} FROM gateway_node WHERE home = $1::uuid FOR UPDATE`,
    locks: (tx, [home]) => nodesWhere(tx, (row) => row.home === home).map((key) => `node ${key}`),
    run: (tx, [home]) =>
      [...tx.rows('gateway_node')]
        .map(([, row]) => row)
        .filter((row) => row.home === home)
        .map((row) => holders.of(row, { silentMs: tx.nowMs - row.seen_at })),
  },
  {
    text: 'DELETE FROM gateway_node WHERE home = $1::uuid RETURNING id',
    locks: (tx, [home]) => nodesWhere(tx, (row) => row.home === home).map((key) => `node ${key}`),
    run: (tx, [home]) =>
      nodesWhere(tx, (row) => row.home === home).map((key) => {
        tx.delete('gateway_node', key);
        return { id: BigInt(key) };
      }),
  },
  {
    text: 'INSERT INTO gateway_node (home, address, session, process, keeps_charges) VALUES ($1, $2, $3, $4, $5) RETURNING id',
    run: (tx, [home, address, session, process, keepsCharges]) => {
      const id = tx.store.nextNumber('gateway_node');
      const at = { started_at: tx.nowMs, seen_at: tx.nowMs };
      tx.put('gateway_node', String(id), {
        id,
        home: String(home),
        address: String(address),
        session: String(session),
        process: String(process),
        keeps_charges: keepsCharges === true,
        ...at,
        knows: 0,
        edition: null,
        differences: null,
      });
      return [{ id: BigInt(id) }];
    },
  },
  {
    text: 'UPDATE gateway_node SET seen_at = now(), knows = greatest(knows, $2) WHERE id = $1 RETURNING id',
    locks: (_tx, [id]) => [`node ${String(id)}`],
    run: (tx, [id, knows]) => {
      const row = tx.get('gateway_node', String(id));
      if (row === undefined) return [];
      tx.put('gateway_node', String(id), {
        ...row,
        seen_at: tx.nowMs,
        knows: Math.max(row.knows, Number(knows)),
      });
      return [{ id: BigInt(row.id) }];
    },
  },
  {
    text: 'UPDATE gateway_node SET address = $2 WHERE id = $1',
    locks: (_tx, [id]) => [`node ${String(id)}`],
    run: (tx, [id, address]) => {
      const row = tx.get('gateway_node', String(id));
      if (row !== undefined) tx.put('gateway_node', String(id), { ...row, address: String(address) });
      return [];
    },
  },
  {
    text: `SELECT ${nodes.text} FROM gateway_node n ORDER BY n.id`,
    run: (tx) =>
      [...tx.rows('gateway_node')]
        .map(([, row]) => row)
        .sort((a, b) => a.id - b.id)
        .map((row) => nodeOf(tx, row)),
  },
  {
    text: normalized(`WITH beat AS (UPDATE gateway_node SET seen_at = clock_timestamp(),
        edition = CASE WHEN id = $1 THEN $2 ELSE edition END,
        differences = CASE WHEN id = $1 THEN $3 ELSE differences END
        WHERE id = $1 OR ${seenInFuture} RETURNING id)
      SELECT ${beats.text} FROM gateway_node n LEFT JOIN beat ON beat.id = n.id AND beat.id = $1 ORDER BY n.id`),
    locks: (tx, [id]) =>
      nodesWhere(tx, (row) => row.id === Number(id) || isSeenInFuture(tx, row)).map((key) => `node ${key}`),
    run: (tx, [own, served, differing]) => {
      const listed = [...tx.rows('gateway_node')].map(([, row]) => row).sort((a, b) => a.id - b.id);
      for (const row of listed) {
        const isOwn = row.id === Number(own);
        if (!isOwn && !isSeenInFuture(tx, row)) continue;
        tx.put('gateway_node', String(row.id), {
          ...row,
          seen_at: tx.store.now(),
          ...(isOwn
            ? {
                edition: served === null ? null : Number(served),
                differences: differing === null ? null : Number(differing),
              }
            : {}),
        });
      }
      return listed.map((row) => nodeOf(tx, row, row.id === Number(own)));
    },
  },
  dropping('DELETE FROM spend_share WHERE node_id = $1', (_tx, nodeId) => (id) => id === Number(nodeId)),
  deletingNodes('DELETE FROM gateway_node WHERE id = $1', (_tx, id) => (row) => row.id === Number(id)),
  {
    text: 'SELECT DISTINCT node_id FROM spend_share',
    run: (tx) =>
      [...new Set([...tx.rows('spend_share')].map(([, row]) => row.node_id))].map((id) => ({
        node_id: BigInt(id),
      })),
  },
  {
    text: "SELECT id FROM gateway_node WHERE seen_at > now() - $1::float8 * interval '1 millisecond'",
    run: (tx, [lostForMs]) =>
      nodesWhere(tx, (row) => row.seen_at > tx.nowMs - Number(lostForMs)).map((id) => ({ id: BigInt(id) })),
  },
  deletingNodes(
    "DELETE FROM gateway_node WHERE NOT keeps_charges AND seen_at <= now() - $1::float8 * interval '1 millisecond'",
    (tx, lostForMs) => (row) => !row.keeps_charges && row.seen_at <= tx.nowMs - Number(lostForMs),
  ),
  {
    text: 'SELECT 1 FROM account_balance WHERE account_id = $1 FOR UPDATE',
    locks: (_tx, [id]) => [`balance ${String(id)}`],
    run: (tx, [id]) => (tx.get('account_balance', String(id)) === undefined ? [] : [{}]),
  },
  {
    text: 'SELECT 1 FROM api_key WHERE account_id = $1 AND id = $2 FOR UPDATE',
    locks: (tx, [account, id]) => (isKeyOf(tx, account, id) ? [`key ${String(id)}`] : []),
    run: (tx, [account, id]) => (isKeyOf(tx, account, id) ? [{}] : []),
  },
  {
    text: "SELECT coalesce(sum(s.amount), 0)::bigint AS amount FROM spend_share s JOIN gateway_node n ON n.id = s.node_id WHERE s.account_id = $4 AND s.kind = $1 AND s.subject = $2 AND s.node_id <> $3 AND n.seen_at > now() - interval '5000 milliseconds'",
    run: (tx, [kind, subject, nodeId, account]) => {
      let amount = 0n;
      for (const [, share] of tx.rows('spend_share')) {
        if (share.kind !== kind || share.subject !== Number(subject) || share.node_id === Number(nodeId))
          continue;
        if (share.account_id !== Number(account)) continue;
        const node = tx.get('gateway_node', String(share.node_id));
        if (node === undefined || node.seen_at <= tx.nowMs - lostMs) continue;
        amount += share.amount;
      }
      return [{ amount }];
    },
  },
  {
    text: 'INSERT INTO spend_share (account_id, kind, subject, node_id, amount) SELECT account_id, kind, subject, $5, amount FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::bigint[]) s (account_id, kind, subject, amount) ON CONFLICT (account_id, kind, subject, node_id) DO UPDATE SET amount = excluded.amount',
    locks: (_tx, [, kinds, subjects, , nodeId]) =>
      numbersOf(kinds).map(
        (kind, at) => `share ${shareKey(kind, numbersOf(subjects)[at] ?? 0, Number(nodeId))}`,
      ),
    run: (tx, [accounts, kinds, subjects, amounts, nodeId]) => {
      const shares = amountsOf(amounts);
      numbersOf(kinds).forEach((kind, at) => {
        const subject = numbersOf(subjects)[at] ?? 0;
        const amount = shares[at] ?? 0n;
        if (amount < 0n) throw new ServerError('23514', 'share_is_not_negative');
        const key = shareKey(kind, subject, Number(nodeId));
        const account = numbersOf(accounts)[at] ?? 0;
        tx.put('spend_share', key, { account_id: account, kind, subject, node_id: Number(nodeId), amount });
      });
      return [];
    },
  },
  {
    text: 'DELETE FROM spend_share s USING unnest($1::bigint[], $2::int[], $3::bigint[]) d (account_id, kind, subject) WHERE s.account_id = ANY($1::bigint[]) AND s.node_id = $4 AND s.account_id = d.account_id AND s.kind = d.kind AND s.subject = d.subject',
    locks: (_tx, [, kinds, subjects, nodeId]) =>
      numbersOf(kinds).map(
        (kind, at) => `share ${shareKey(kind, numbersOf(subjects)[at] ?? 0, Number(nodeId))}`,
      ),
    run: (tx, [, kinds, subjects, nodeId]) => {
      numbersOf(kinds).forEach((kind, at) => {
        const key = shareKey(kind, numbersOf(subjects)[at] ?? 0, Number(nodeId));
        if (tx.get('spend_share', key) !== undefined) tx.delete('spend_share', key);
      });
      return [];
    },
  },
  {
    text: 'DELETE FROM spend_share WHERE account_id = ANY($2::bigint[]) AND node_id = $1',
    locks: (tx, [nodeId, accounts]) =>
      sharesOf(tx, Number(nodeId), numbersOf(accounts)).map((key) => `share ${key}`),
    run: (tx, [nodeId, accounts]) => {
      for (const key of sharesOf(tx, Number(nodeId), numbersOf(accounts))) tx.delete('spend_share', key);
      return [];
    },
  },
  {
    text: 'UPDATE spend_share s SET amount = greatest(0, s.amount - d.amount) FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::bigint[]) d (account_id, kind, subject, amount) WHERE s.account_id = ANY($1::bigint[]) AND s.node_id = $5 AND s.account_id = d.account_id AND s.kind = d.kind AND s.subject = d.subject',
    locks: (_tx, [, kinds, subjects, , nodeId]) =>
      numbersOf(kinds).map(
        (kind, at) => `share ${shareKey(kind, numbersOf(subjects)[at] ?? 0, Number(nodeId))}`,
      ),
    run: (tx, [accounts, kinds, subjects, amounts, nodeId]) => {
      const spent = amountsOf(amounts);
      numbersOf(kinds).forEach((kind, at) => {
        const key = shareKey(kind, numbersOf(subjects)[at] ?? 0, Number(nodeId));
        const row = tx.get('spend_share', key);
        if (row === undefined || row.account_id !== numbersOf(accounts)[at]) return;
        const left = row.amount - (spent[at] ?? 0n);
        tx.put('spend_share', key, { ...row, amount: left > 0n ? left : 0n });
      });
      return [];
    },
  },
];
