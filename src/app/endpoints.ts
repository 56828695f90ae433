import { accountRoutes } from '../api/account.ts';
import { datasetRoutes } from '../api/datasets.ts';
import { documentationRoutes } from '../api/documentation.ts';
import { generationRoutes } from '../api/generation.ts';
import { inferenceRoutes } from '../api/inference.ts';
import { keyRoutes } from '../api/keys.ts';
import { modelRoutes } from '../api/models.ts';
import { probeRoutes } from '../api/probes.ts';
import { providerRoutes } from '../api/providers.ts';
import type { AnyRoute } from '../api/route.ts';
import type { Config } from '../config/config.ts';
import { openaiDialect } from '../dialects/openai/index.ts';
import { readGeneration, readRefusal } from '../generations/generations.ts';
import { CompletionSizes } from '../inference/completion-sizes.ts';
import type { Key } from '../keys/key.ts';
import type { KeyDesk } from '../keys/key-service.ts';
import type { Log } from '../log/log.ts';
import type { TokenCounts } from '../metering/tokenizer-pool.ts';
import type { Lanes } from '../slots/contract.ts';
import type { Database } from '../store/database.ts';
import { type Clock, pause } from '../time/clock.ts';
import type { Health } from '../upstreams/health.ts';
import type { Engines } from '../upstreams/providers.ts';
import type { Books } from './accounting.ts';
import type { Offer } from './live-catalog.ts';
import { ReadinessCheck } from './readiness.ts';
import { admissionsOf } from './spend-limits.ts';

/** The rooms behind the endpoints. */
export interface EndpointsParts {
  readonly config: Config;
  /** Those of the moment: a reload may change them. */
  readonly limits: () => Config['limits'];
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly books: Books;
  readonly desk: KeyDesk;
  readonly offer: Offer;
  readonly health: Health;
  readonly engines: Engines;
  readonly lanes: Lanes;
  readonly tokens: TokenCounts;
  /** Whether the server ends: it takes no new connections. */
  readonly isStopping: () => boolean;
}

/** How long another node may take to bring what it has journaled into the database. */
const othersSettleWithinMs = 500;
/** The version of the API's document; the paths have their own (spec:api/20.1). */
const apiVersion = '1.0.0';

/** Every endpoint there is, with the rooms that answer it. */
export function endpoints(parts: EndpointsParts): readonly AnyRoute[] {
  const { config, limits, database, clock, books, offer, health } = parts;
  const { accounts, settlements, nodes } = books;
  const { samples, syncKey } = config.datasets;
  const maxBodyBytes = (): number => limits().bodyBytes;
  const { isStopping } = parts;
  const ready = new ReadinessCheck({ database, clock, isFresh: () => books.feed.isFresh, isStopping });
  const routes: readonly AnyRoute[] = [
    ...inferenceRoutes(inferenceOf(parts)),
    ...keyRoutes({ desk: parts.desk, accounts, maxBodyBytes }),
    ...accountRoutes({ accounts, current: (key) => currentKey(books, key), clock }),
    ...datasetRoutes({ database, clock, samples: samples && syncKey === null }),
    ...generationRoutes({
      settlements,
      refusals: books.refusals,
      readRefusal: (accountId, uuid) => readRefusal(database, accountId, uuid),
      readGeneration: (accountId, uuid) => readGenerationSoon({ database, clock, nodes }, accountId, uuid),
    }),
    ...modelRoutes({ catalogue: () => offer.catalogue, health, clock }),
    ...providerRoutes(() => offer.config),
    ...probeRoutes(() => ready.state()),
    ...documentationRoutes(() => routes, apiVersion),
  ];
  return routes;
}

/** What a call runs on. Limits are getters: a request begins with those of the moment. */
function inferenceOf({
  limits,
  clock,
  log,
  books,
  offer,
  health,
  engines,
  lanes,
  tokens,
}: EndpointsParts): Parameters<typeof inferenceRoutes>[0] {
  return {
    accounts: books.accounts,
    settlements: books.settlements,
    catalogue: () => offer.catalogue,
    chain: {
      clock,
      health,
      get budgetMs() {
        return limits().upstreamTimeoutMs;
      },
      get totalTimeoutMs() {
        return limits().totalTimeoutMs;
      },
      get fallbackStreamMs() {
        return limits().fallbackStreamMs;
      },
      get fallbackWholeMs() {
        return limits().fallbackWholeMs;
      },
      callers: {
        provider: (slug) => offer.provider(slug),
        engine: (baseUrl) => engines.at(baseUrl),
        slots: lanes,
        engineDialect: openaiDialect,
        clock,
        log,
        get streamIdleTimeoutMs() {
          return limits().streamIdleTimeoutMs;
        },
      },
    },
    clock,
    admissions: admissionsOf(books),
    sizes: new CompletionSizes(),
    refusals: books.refusals,
    count: (texts, enough) => tokens.count(texts, enough),
    get debtFloor() {
      return limits().debtFloorKrw;
    },
    get maxBodyBytes() {
      return limits().bodyBytes;
    },
    get keepAliveMs() {
      return limits().keepAliveCommentMs;
    },
  };
}

/** A key's spend is known from memory while nobody else spends with it. */
async function currentKey({ nodes, keys }: Books, key: Key): Promise<Key> {
  if (!nodes.isAlone || !keys.isKnown(key.row.id)) await key.during(keys.refresh(key.row.id));
  return key;
}

/**
 * A record is readable before the last byte of its answer was sent (spec:api/16.3), also by way of another node, which has it in
 * its journal and is about to bring it into the database.
 */
async function readGenerationSoon(
  { database, clock, nodes }: Pick<EndpointsParts, 'database' | 'clock'> & Pick<Books, 'nodes'>,
  accountId: number,
  uuid: string,
): ReturnType<typeof readGeneration> {
  const endMs = clock.monotonic() + othersSettleWithinMs;
  for (;;) {
    const row = await readGeneration(database, accountId, uuid);
    if (row !== null || nodes.isAlone || clock.monotonic() >= endMs) return row;
    await pause(clock, 25, new AbortController().signal);
  }
}
