import type { TestContext } from 'node:test';
import { openOffice } from '../../src/office.ts';
import { Database } from '../../src/store/database.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { startUpstream } from '../harness/upstream.ts';
import { scriptedReply } from './orders.ts';
import { type Cutter, startCutter } from './proxy.ts';

/** A gateway that reaches its database through a cutter, and an office as of another process that does not. */
export interface BehindCutter {
  readonly naru: TestGateway;
  readonly cutter: Cutter;
  readonly office: TestGateway['office'];
}

/** Starts one with the model `test/echo` of an upstream that does what the prompt says, for the length of a test. */
export async function startBehindCutter(t: TestContext): Promise<BehindCutter> {
  const upstream = await startUpstream();
  upstream.answer(({ body }) => scriptedReply(body));
  const opened: { cutter?: Cutter; direct?: Database } = {};
  const naru = await startTestGateway({
    models: [{ id: 'test/echo', upstreams: [upstream.url] }],
    through: async (address) => {
      opened.direct = new Database(address, 2);
      opened.cutter = await startCutter(address);
      return opened.cutter.address;
    },
  });
  const { cutter, direct } = opened;
  if (cutter === undefined || direct === undefined)
    throw new Error('the gateway did not ask for its database');
  t.after(async () => {
    cutter.up();
    await direct.close();
    await naru.close();
    await cutter.close();
    await upstream.close();
  });
  const office = openOffice(direct, { clock: naru.clock, keyPrefix: 'sk-naru-', close: async () => {} });
  return { naru, cutter, office };
}
