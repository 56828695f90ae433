import type * as leases from '../../../src/nodes/credit-leases-sql.ts';
import type * as real from '../../../src/nodes/nodes-sql.ts';
import type * as store from '../../../src/store/changes.ts';
import type * as identity from '../../../src/store/database-identity.ts';
import type * as shards from '../../../src/store/placement/shards.ts';
import type * as time from '../../../src/store/server-time.ts';
import { type Sql, sqlOver } from '../../../src/store/sql.ts';
import { on, statementOf } from './step.ts';
import type { Tables } from './tables.ts';
import { ServerError, type Transaction } from './transactions.ts';

export * from '../../../src/nodes/credit-leases-sql.ts';
export * from '../../../src/nodes/nodes-sql.ts';
export * from '../../../src/store/changes.ts';
export * from '../../../src/store/database-identity.ts';
export * from '../../../src/store/placement/shards.ts';
export * from '../../../src/store/server-time.ts';

type Node = Tables['gateway_node'];
const lostMs = 5_000;

export const readServerTime: typeof time.readServerTime = (sql) => on(sql, (tx) => tx.store.now());

export const readDatabaseId: typeof identity.readDatabaseId = (sql) =>
  on(sql, () => '00000000-0000-4000-8000-0000000000db');

export const readShards: typeof shards.readShards = (sql) => on(sql, () => null);

export const listenForChanges: typeof store.listenForChanges = async (client) => {
  await client.query('LISTEN');
  await on(sqlOver(client), (tx) => tx.notices.push('listening'));
};

export const recordChanges: typeof store.recordChanges = (sql, topic, subjects) =>
  on(sql, (tx) => {
    for (const subject of subjects) {
      const id = tx.store.nextNumber('change_event');
      tx.put('change_event', String(id), { id, topic, subject, tx: tx.number });
    }
    tx.notices.push(topic);
  });

export const recordChange: typeof store.recordChange = (sql, topic, subject) =>
  recordChanges(sql, topic, [subject]);

export const seenUntilNow: typeof store.seenUntilNow = (sql) => on(sql, (tx) => tx.store.snapshot());

export const changesAfter: typeof store.changesAfter = (client, seen, afterId) =>
  on(sqlOver(client), (tx) => {
    const [, most = '', underway = ''] = seen.split(':');
    const unfinished = new Set(underway.split(','));
    const changes = [...tx.rows('change_event')]
      .map(([, row]) => row)
      .filter((row) => row.id > afterId && (row.tx >= Number(most) || unfinished.has(String(row.tx))))
      .sort((a, b) => a.id - b.id)
      .slice(0, 1000)
      .map(({ id, topic, subject }) => ({ id, topic, subject }));
    return { changes, isLast: changes.length < 1000, seen: tx.store.snapshot() };
  });

function nodesWhere(tx: Transaction, holds: (row: Node) => boolean): readonly Node[] {
  return [...tx.rows('gateway_node')]
    .map(([, row]) => row)
    .filter(holds)
    .sort((a, b) => a.id - b.id);
}

/** The locks of the nodes for which this holds. */
function nodeLocks(holds: (row: Node, tx: Transaction) => boolean) {
  return (tx: Transaction) => nodesWhere(tx, (row) => holds(row, tx)).map(({ id }) => `node ${id}`);
}

function putNode(tx: Transaction, row: Node, changes: Partial<Node>): void {
  tx.put('gateway_node', String(row.id), { ...row, ...changes });
}

function isSeenInFuture({ seen_at }: Node, tx: Transaction): boolean {
  return seen_at > tx.store.now() + 1_000;
}

function nodeOf(tx: Transaction, row: Node): real.NodeRow {
  const { id, address, started_at: startedAtMs, knows, home, edition, differences } = row;
  return { id, address, startedAtMs, silentMs: tx.nowMs - row.seen_at, knows, home, edition, differences };
}

export const readHolder: typeof real.readHolder = async (sql, home) => {
  await on(
    sql,
    (tx) => {
      for (const row of nodesWhere(tx, (each) => each.home === home && isSeenInFuture(each, tx)))
        putNode(tx, row, { seen_at: tx.store.now() });
    },
    nodeLocks((row, tx) => row.home === home && isSeenInFuture(row, tx)),
  );
  return on(
    sql,
    (tx) => {
      const [row] = nodesWhere(tx, (each) => each.home === home);
      if (row === undefined) return null;
      const { session, process, address, seen_at: seenAtMs } = row;
      return { session, process, address, seenAtMs, silentMs: tx.nowMs - seenAtMs };
    },
    nodeLocks((row) => row.home === home),
  );
};

export const claimHome: typeof real.claimHome = (database, claim, mayReplace) =>
  database.transaction(async (sql) => {
    const { home, address, session, process, keepsCharges } = claim;
    const holder = await readHolder(sql, home);
    if (holder !== null && holder.session !== session && !mayReplace(holder))
      return { kind: 'taken', holder } as const;
    const id = await on(sql, (tx) => {
      for (const row of nodesWhere(tx, (each) => each.home === home))
        tx.delete('gateway_node', String(row.id));
      const added = tx.store.nextNumber('gateway_node');
      tx.put('gateway_node', String(added), {
        ...{ id: added, home, address, session, process, keeps_charges: keepsCharges },
        ...{ started_at: tx.nowMs, seen_at: tx.nowMs, knows: 0, edition: null, differences: null },
      });
      return added;
    });
    await recordChange(sql, 'node', id);
    return { kind: 'registered', id } as const;
  });

export const removeNode: typeof real.removeNode = (database, id) =>
  database.transaction(async (sql) => {
    await on(
      sql,
      (tx) => tx.delete('gateway_node', String(id)),
      nodeLocks((row) => row.id === id),
    );
    await recordChange(sql, 'node', id);
  });

export const removeLostNodes: typeof real.removeLostNodes = (database, lostForMs) =>
  database.transaction(async (sql) => {
    const isLost = (row: Node, tx: Transaction): boolean => row.seen_at <= tx.nowMs - lostForMs;
    await on(
      sql,
      (tx) => {
        for (const { id } of nodesWhere(tx, (row) => !row.keeps_charges && isLost(row, tx)))
          tx.delete('gateway_node', String(id));
      },
      nodeLocks((row, tx) => !row.keeps_charges && isLost(row, tx)),
    );
    const holders = await on(sql, (tx) => [...tx.rows('spend_share')].map(([, { node_id }]) => node_id));
    const live = await on(sql, (tx) => nodesWhere(tx, (row) => !isLost(row, tx)).map(({ id }) => id));
    for (const id of new Set(holders))
      if (!live.includes(id)) await dropWhere(sql, (row) => row.node_id === id);
  });

export const noteAlive: typeof real.noteAlive = (sql, id, knows) =>
  on(
    sql,
    (tx) => {
      const row = tx.get('gateway_node', String(id));
      if (row !== undefined) putNode(tx, row, { seen_at: tx.nowMs, knows: Math.max(row.knows, knows) });
      return row !== undefined;
    },
    () => [`node ${id}`],
  );

export const noteAddress: typeof real.noteAddress = (sql, id, address) =>
  on(
    sql,
    (tx) => {
      const row = tx.get('gateway_node', String(id));
      if (row !== undefined) putNode(tx, row, { address });
    },
    () => [`node ${id}`],
  );

export const listNodes: typeof real.listNodes = (sql) =>
  on(sql, (tx) => nodesWhere(tx, () => true).map((row) => nodeOf(tx, row)));

export const beatAndList: typeof real.beatAndList = (sql, own, reported) =>
  on(
    sql,
    (tx) => {
      const listed = nodesWhere(tx, () => true);
      for (const row of listed)
        if (row.id === own) putNode(tx, row, { seen_at: tx.store.now(), ...reported });
        else if (isSeenInFuture(row, tx)) putNode(tx, row, { seen_at: tx.store.now() });
      return {
        nodes: listed.map((row) => nodeOf(tx, row)),
        isListed: listed.some(({ id }) => id === own),
      };
    },
    nodeLocks((row, tx) => row.id === own || isSeenInFuture(row, tx)),
  );

const kindNumbers = { account: 1, key: 2 } as const;

function leaseKey({ kind, subject }: leases.LeaseSubject, nodeId: number): string {
  return `${kindNumbers[kind]}/${subject}/${nodeId}`;
}

/** Drops the leases for which this holds. */
function dropWhere(sql: Sql, holds: (row: Tables['spend_share']) => boolean): Promise<void> {
  const keysOf = (tx: Transaction): readonly string[] =>
    [...tx.rows('spend_share')].filter(([, row]) => holds(row)).map(([key]) => key);
  return on(
    sql,
    (tx) => {
      for (const key of keysOf(tx)) tx.delete('spend_share', key);
    },
    (tx) => leaseLocks(keysOf(tx)),
  );
}

function leaseLocks(keys: readonly string[]): readonly string[] {
  return keys.map((key) => `share ${key}`);
}

export const lockLeases: typeof leases.lockLeases = (sql, { kind, subject, accountId }) =>
  on(
    sql,
    () => {},
    (tx) => {
      if (kind === 'account') return [`balance ${accountId}`];
      return tx.get('api_key', String(subject))?.account_id === accountId ? [`key ${subject}`] : [];
    },
  );

export const leasesOfOthers: typeof leases.leasesOfOthers = (sql, nodeId, { kind, subject, accountId }) =>
  on(sql, (tx) => {
    let amount = 0n;
    for (const [, share] of tx.rows('spend_share')) {
      if (share.kind !== kindNumbers[kind] || share.subject !== subject || share.node_id === nodeId) continue;
      if (share.account_id !== accountId) continue;
      const node = tx.get('gateway_node', String(share.node_id));
      if (node === undefined || node.seen_at <= tx.nowMs - lostMs) continue;
      amount += share.amount;
    }
    return amount;
  });

export const writeLeases: typeof leases.writeLeases = (sql, nodeId, rows) => {
  const inOrder = rows.toSorted((a, b) => kindNumbers[a.kind] - kindNumbers[b.kind] || a.subject - b.subject);
  return on(
    sql,
    (tx) => {
      for (const row of inOrder) {
        const { accountId, kind, subject, amount } = row;
        if (amount < 0n) throw new ServerError('23514', 'share_is_not_negative');
        tx.put('spend_share', leaseKey(row, nodeId), {
          ...{ account_id: accountId, kind: kindNumbers[kind], subject, node_id: nodeId, amount },
        });
      }
    },
    () => leaseLocks(inOrder.map((row) => leaseKey(row, nodeId))),
  );
};

export const dropLeases: typeof leases.dropLeases = (sql, nodeId, rows) => {
  const keys = rows.map((row) => leaseKey(row, nodeId));
  return on(
    sql,
    (tx) => {
      for (const key of keys) if (tx.get('spend_share', key) !== undefined) tx.delete('spend_share', key);
    },
    () => leaseLocks(keys),
  );
};

export const dropLeasesOf: typeof leases.dropLeasesOf = (sql, nodeId, accountIds) =>
  dropWhere(sql, (row) => row.node_id === nodeId && accountIds.includes(row.account_id));

export const spendLeases: typeof leases.spendLeases = (nodeId, spent) =>
  statementOf(
    (tx) => {
      for (const row of spent) {
        const share = tx.get('spend_share', leaseKey(row, nodeId));
        if (share === undefined || share.account_id !== row.accountId) continue;
        const left = share.amount - row.amount;
        tx.put('spend_share', leaseKey(row, nodeId), { ...share, amount: left > 0n ? left : 0n });
      }
      return [];
    },
    { locks: () => leaseLocks(spent.map((row) => leaseKey(row, nodeId))) },
  );
