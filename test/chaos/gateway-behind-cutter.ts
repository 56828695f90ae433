import type { TestContext } from 'node:test';
import { createOperatorService } from '../../src/operations/operator-service.ts';
import { Database } from '../../src/store/database.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { startUpstream } from '../harness/upstream.ts';
import { scriptedReply } from './orders.ts';
import { type Cutter, startCutter } from './proxy.ts';

/**
 * A gateway that reaches its database through a cutter, and an office as of another process that
 * does not.
 */
export interface BehindCutter {
  readonly naru: TestGateway;
  readonly cutter: Cutter;
  readonly operator: TestGateway['operator'];
  /** The same database, past the cutter. */
  readonly direct: Database;
}

/**
 * Starts one with the model `test/echo` of an upstream that follows the prompt, for the duration of
 * a test. `ownRole` has the gateway connect as a separate role with the owner's rights; its name is
 * that of the database.
 */
export async function startBehindCutter(t: TestContext, ownRole = false): Promise<BehindCutter> {
  const upstream = await startUpstream();
  upstream.respond(({ body }) => scriptedReply(body));
  const opened: { cutter?: Cutter; direct?: Database } = {};
  const naru = await startTestGateway({
    // Without its database a gateway responds with 500 (spec:errors/11.1).
    expectsInternalErrors: true,
    models: [{ id: 'test/echo', upstreams: [upstream.url] }],
    through: async (address) => {
      opened.direct = new Database(address, 2);
      opened.cutter = await startCutter(address);
      if (!ownRole) return opened.cutter.address;
      await opened.direct.query(`CREATE ROLE ${address.database} LOGIN IN ROLE ${address.user}`);
      return { ...opened.cutter.address, user: address.database };
    },
  });
  const { cutter, direct } = opened;
  if (cutter === undefined || direct === undefined)
    throw new Error('the gateway did not request its database');
  t.after(async () => {
    cutter.up();
    await naru.stop();
    if (ownRole) {
      const { database, user } = direct.address;
      await direct.query(`REASSIGN OWNED BY ${database} TO ${user}`);
      await direct.query(`DROP ROLE ${database}`);
    }
    await direct.close();
    await naru.close();
    await cutter.close();
    await upstream.close();
  });
  const operator = createOperatorService(direct, {
    clock: naru.clock,
    keyPrefix: 'sk-naru-',
    close: async () => {},
  });
  return { naru, cutter, operator, direct };
}
