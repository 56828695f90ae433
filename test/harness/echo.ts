import { after, before } from 'node:test';
import { startTestGateway, type TestAccount, type TestGateway, type TestGatewayOptions } from './gateway.ts';
import { startUpstream, type Upstream } from './upstream.ts';

/** A gateway whose model `test/echo` is served by one upstream, and an account with credit. */
export interface Echo {
  readonly upstream: Upstream;
  readonly naru: TestGateway;
  readonly account: TestAccount;
}

/**
 * Starts an `Echo` before the tests of a file, and closes it after them. `started` receives it
 * before the first test; what depends on it belongs there, because hooks of a file run at once.
 */
export function serveEcho(
  credit: string,
  started: (echo: Echo) => unknown,
  options: Omit<TestGatewayOptions, 'models'> = {},
): void {
  const opened: (() => Promise<void>)[] = [];
  before(async () => {
    const upstream = await startUpstream();
    opened.unshift(() => upstream.close());
    const models = [{ id: 'test/echo', upstreams: [upstream.url] }];
    const naru = await startTestGateway({ ...options, models });
    opened.unshift(() => naru.close());
    await started({ upstream, naru, account: await naru.account({ credit }) });
  });
  after(async () => {
    for (const close of opened) await close();
  });
}
