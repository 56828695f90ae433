/** A mistake that could be made in the sources: one text in the place of another. */
export interface Mutation {
  /** What would then be wrong. */
  readonly name: string;
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly from: string;
  readonly to: string;
}

/** What the simulator must find: run by `npm run sim -- --mutations`, on a copy of the sources. */
export const mutations: readonly Mutation[] = [
  {
    name: 'settlement: a generation that is already there moves its money again',
    file: 'src/store/settlement.ts',
    from: 'rows.filter((row) => ids.delete(row.uuid))',
    to: 'rows.filter((row) => ids.delete(row.uuid) || row.cost > 0n)',
  },
  {
    name: 'settlement: a batch whose COMMIT was lost is taken for committed',
    file: 'src/ledger/settler.ts',
    from: 'if (mayPass(error)) throw error;',
    to: "if (mayPass(error)) return this.#leaveQueue(batch, 'committed');",
  },
  {
    name: 'settlement: of a batch that is partly there nothing more is settled',
    file: 'src/store/settlement.ts',
    from: "await client.query('ROLLBACK');\n    return attempt(batch, 'partly there');",
    to: "await client.query('ROLLBACK');\n    return { balances: [], replayed: new Set(rows.map(({ uuid }) => uuid)) };",
  },
  {
    name: 'settlement: it is committed although a statement failed',
    file: 'src/store/settlement.ts',
    from: '  await sent.answered();\n',
    to: '  await sent.answered().catch(() => {});\n',
  },
  {
    name: 'settlement: what a repeated batch found settled is counted as newly spent by the key',
    file: 'src/books.ts',
    from: 'if (!result.replayed.has(row.uuid)) key.committed(row.day, cost);',
    to: 'if (!result.replayed.has(row.uuid) || true) key.uncharge(row.day, cost);',
  },
  {
    name: 'settlement: a committed charge stays pending',
    file: 'src/books.ts',
    from: 'accounts.peek(row.accountId)?.uncharge(cost);\n    shares.spent',
    to: 'shares.spent',
  },
  {
    name: 'settlement: an answer is complete before its settlement is durable',
    file: 'src/ledger/settlements.ts',
    from: 'await this.#parts.journal.durable(journaled);',
    to: 'void this.#parts.journal.durable(journaled).catch(() => {});',
  },
  {
    name: 'settlement: one that was given up is billed all the same',
    file: 'src/ledger/settlements.ts',
    from: "return { ...row, status: 500, errorType: 'server', cost: 0n };",
    to: "return { ...row, status: 500, errorType: 'server' };",
  },
  {
    name: 'settlement: a failure is not said at once',
    file: 'src/ledger/failure-notes.ts',
    from: 'this.#notes.set(failed.uuid, note);\n    this.#say(note);',
    to: 'this.#notes.set(failed.uuid, note);',
  },
  {
    name: 'journal: what it had settled is not replayed',
    file: 'src/ledger/leftovers.ts',
    from: 'final === null ? [] : [{ row: final, tickets }]',
    to: '[]',
  },
  {
    name: 'journal: of two finals of one request the first is believed',
    file: 'src/ledger/leftovers.ts',
    from: 'tracesOf(final.uuid, ticket).final = final;',
    to: 'tracesOf(final.uuid, ticket).final ??= final;',
  },
  {
    name: 'journal: an admitted request without an end is forgotten',
    file: 'src/ledger/leftovers.ts',
    from: 'final !== null || open === null ? [] : [{ record: open, tickets }]',
    to: '[]',
  },
  {
    name: 'journal: nothing is synced',
    file: 'src/store/journal/writer.ts',
    from: 'const syncs = sync ?',
    to: 'const syncs = !sync ?',
  },
  {
    name: 'journal: what stands behind a torn record is not read',
    file: 'src/store/journal/replay.ts',
    from: 'for (let at = from; at < end; at++) {',
    to: 'for (let at = from; at < from + 1; at++) {',
  },
  {
    name: 'journal: records are let go of before they are committed',
    file: 'src/ledger/settlements.ts',
    from: '    this.#onTheWay.set(row.uuid, row);\n    const finished',
    to: '    this.#onTheWay.set(row.uuid, row);\n    for (const ticket of tickets.splice(0)) this.#parts.journal.release(ticket);\n    const finished',
  },
  {
    name: 'shares: the shares of the others are not taken from what is free',
    file: 'src/nodes/spend-shares.ts',
    from: 'left: left - others, others',
    to: 'left, others',
  },
  {
    name: 'shares: a share that is granted is not written to the database',
    file: 'src/nodes/spend-shares.ts',
    from: 'await writeShares(sql, this.#parts.nodes.id, next.map(rowOf));',
    to: '',
  },
  {
    name: 'shares: a share that is granted is written without what is free',
    file: 'src/nodes/spend-shares.ts',
    from: 'await writeShares(sql, this.#parts.nodes.id, next.map(rowOf));',
    to: 'await writeShares(sql, this.#parts.nodes.id, next.map(({ spender }) => rowOf({ spender, amount: spender.exposure })));',
  },
  {
    name: 'shares: a settlement does not leave the share in memory',
    file: 'src/books.ts',
    from: "shares.spent('account', row.accountId, cost);",
    to: '',
  },
  {
    name: 'shares: what is given back may still be spent',
    file: 'src/nodes/spend-shares.ts',
    from: 'if (amount > 0n) this.#put(spender, amount);',
    to: 'if (amount >= 0n) this.#put(spender, amount + 100_000_000n);',
  },
  {
    name: 'shares: what is in flight is not published when a node is alone no more',
    file: 'src/nodes/spend-shares.ts',
    from: 'if (exposed.length > 0) await writeShares',
    to: 'if (exposed.length < 0) await writeShares',
  },
  {
    name: 'hold: one never ends',
    file: 'src/inference/holds.ts',
    from: 'this.#account.release(this.#amount);',
    to: '',
  },
  {
    name: 'hold: none is placed on the account',
    file: 'src/inference/holds.ts',
    from: 'this.#account.hold(amount);',
    to: '',
  },
  {
    name: 'revocation: other nodes are not told',
    file: 'src/books.ts',
    from: "keys.refreshAll(subjects('key')),",
    to: '',
  },
  {
    name: 'revocation: memory is believed however old',
    file: 'src/nodes/change-feed.ts',
    from: 'const staleAfterMs = 1_000;',
    to: 'const staleAfterMs = 4_000;',
  },
  {
    name: 'revocation: who is about to commit is taken for seen',
    file: 'src/store/changes.ts',
    from: 'seen: rows[0]?.now ?? seen };',
    to: "seen: (rows[0]?.now ?? seen).replace(/[^:]*$/, '') };",
  },
  {
    name: 'floor: a request is admitted below it',
    file: 'src/inference/holds.ts',
    from: 'if (account.balanceAfterHolds < -debtFloor) throw',
    to: 'if (account.balance < -debtFloor) throw',
  },
  {
    name: 'key limit: the holds of its other requests are not counted',
    file: 'src/inference/holds.ts',
    from: 'const usage = key.usageWithHoldsAt(day);\n  if',
    to: 'const usage = key.usageAt(day);\n  if',
  },
  {
    name: 'timers: a watchdog is not stopped',
    file: 'src/inference/watchdog.ts',
    from: 'this.#timer.cancel();',
    to: '',
  },
  {
    name: 'shares: what is in flight is yielded as well',
    file: 'src/nodes/spend-shares.ts',
    from: 'const rows = next.map(rowOf);',
    to: 'const rows = next.map(({ spender }) => rowOf({ spender, amount: 0n }));',
  },
  {
    name: 'shares: a share whose COMMIT was lost is spent',
    file: 'src/nodes/spend-shares.ts',
    from: 'for (const { spender } of next) this.#put(spender, 0n);',
    to: 'for (const { spender, amount } of next) this.#put(spender, amount);',
  },
  {
    name: 'shares: the model of the database does not count those of others',
    file: 'test/sim/model/nodes.ts',
    from: 'amount += share.amount;',
    to: 'amount += 0n;',
  },
  {
    name: 'shares: the model of the database does not keep what is granted',
    file: 'test/sim/model/nodes.ts',
    from: 'const row = { kind, subject, node_id: Number(nodeId), amount };',
    to: 'const row = { kind, subject, node_id: Number(nodeId), amount: amount / 4n };',
  },
  {
    name: 'nodes: one that was taken for lost goes on as before',
    file: 'src/nodes/node-registry.ts',
    from: 'return this.#parts.clock.monotonic() - this.#seenMs < nodeLostMs;',
    to: 'return true;',
  },
  {
    name: 'floor: beside other nodes a request is admitted below it',
    file: 'src/funds.ts',
    from: 'admits: (free) => free >= 0n,',
    to: 'admits: (free) => free >= -200_000_000n,',
  },
  {
    name: 'key limit: beside other nodes it is not looked at',
    file: 'src/funds.ts',
    from: 'admits: (free) => free > 0n,',
    to: 'admits: (free) => free > -200_000_000n,',
  },
  {
    name: 'key limit: a request is admitted at it',
    file: 'src/inference/holds.ts',
    from: 'if (usage >= limit)',
    to: 'if (usage > limit)',
  },
  {
    name: 'revocation: one that is switched off may call',
    file: 'src/keys/authenticate.ts',
    from: 'row.revokedAtMs !== null || row.userDisabled',
    to: 'row.revokedAtMs !== null',
  },
  {
    name: 'expiry: a key that has expired may call',
    file: 'src/keys/authenticate.ts',
    from: 'row.expiresAtMs !== null && nowMs',
    to: 'row.expiresAtMs !== null && nowMs < 0 && nowMs',
  },
  {
    name: 'expiry: credit expires that was spent',
    file: 'src/ledger/credit.ts',
    from: 'await chargeLots(sql, accountId);\n  const due',
    to: 'const due',
  },
  {
    name: 'expiry: what expired stays in its lot',
    file: 'src/ledger/credit.ts',
    from: 'due.map(({ id }) => ({ accountId, id, remaining: 0n })),',
    to: 'due.map(({ id, remaining }) => ({ accountId, id, remaining })),',
  },
  {
    name: 'expiry: credit expires before its time',
    file: 'src/ledger/lots.ts',
    from: 'lot.expiresAtMs <= atMs',
    to: 'lot.expiresAtMs <= atMs + 2_000',
  },
  {
    name: 'credit: a grant that is repeated is granted twice',
    file: 'src/ledger/credit.ts',
    from: 'if (earlier !== null) return earlier;',
    to: '',
  },
  {
    name: 'credit: more is refunded than was paid',
    file: 'src/ledger/corrections.ts',
    from: 'if (amount > left || left === 0n) return',
    to: 'if (left === 0n) return',
  },
  {
    name: 'stale: nobody waits until memory is current',
    file: 'src/http/dispatch.ts',
    from: 'if (fresh !== undefined) await fresh;',
    to: 'if (fresh !== undefined) void fresh.catch(() => {});',
  },
  {
    name: 'tenants: a record on its way is read by another',
    file: 'src/routes/generation.ts',
    from: 'onTheWay?.accountId === caller.accountId ? onTheWay : null',
    to: 'onTheWay ?? null',
  },
  {
    name: 'tenants: the entry of a batch is that of its first account',
    file: 'src/store/settlement-statements.ts',
    from: 'int8ArrayOfNumbers(billed.map((row) => row.accountId)),',
    to: 'int8ArrayOfNumbers(billed.map(() => billed[0]?.accountId ?? 0)),',
  },
  {
    name: 'acknowledgement: where the database is to have a settlement first, the journal is enough',
    file: 'src/ledger/settlements.ts',
    from: "if (this.#parts.ack === 'journal' && journaled !== null) {",
    to: 'if (journaled !== null) {',
  },
  {
    name: 'forgetting: an account that a request has in hand is forgotten',
    file: 'src/accounts/account.ts',
    from: 'return this.#users > 0 || this.#pending',
    to: 'return this.#pending',
  },
  {
    name: 'forgetting: an account whose charge is not committed is forgotten',
    file: 'src/accounts/account.ts',
    from: 'this.#pending !== 0n || this.#held',
    to: 'this.#held',
  },
  {
    name: 'forgetting: a key that a request has in hand is forgotten',
    file: 'src/keys/key.ts',
    from: 'return this.#users > 0 || this.#pending',
    to: 'return this.#pending',
  },
  {
    name: 'forgetting: a key whose charge is not committed is forgotten',
    file: 'src/keys/key.ts',
    from: 'this.#pending !== null || this.#held',
    to: 'this.#held',
  },
  {
    name: 'forgetting: a key is forgotten while the account of its request is read',
    file: 'src/http/dispatch.ts',
    from: 'account instanceof Promise ? key.during(account) : account',
    to: 'account',
  },
  {
    name: 'streams: a call to an upstream is not closed when its client leaves',
    file: 'src/inference/answer-stream.ts',
    from: 'answer.rest?.close();\n    answer.release();',
    to: 'answer.release();',
  },
];
