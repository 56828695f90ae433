import type { Key } from '../accounts/key.ts';
import type { KeyService } from '../accounts/key-service.ts';
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
import type { DrainView } from '../catalogue/model.ts';
import type { Config } from '../config/config.ts';
import { openaiDialect } from '../dialects/openai/index.ts';
import { readGeneration, readRefusal } from '../generations/generations.ts';
import { CompletionSizes } from '../inference/estimate.ts';
import type { Session } from '../inference/session.ts';
import type { CallTracer } from '../inference/tracing/call-trace.ts';
import type { TargetResolver } from '../inference/upstream-target.ts';
import type { Log } from '../log/log.ts';
import type { LinkedList } from '../memory/linked-list.ts';
import type { TokenizerPool } from '../metering/tokenizer-pool.ts';
import type { GenerationObserver } from '../metrics/observers.ts';
import type { SlotAcquirer } from '../slots/contract.ts';
import type { Database } from '../store/database.ts';
import { type Clock, pause } from '../time/clock.ts';
import type { Health } from '../upstreams/health.ts';
import type { Engines } from '../upstreams/providers.ts';
import type { Accounting } from './accounting.ts';
import type { LiveCatalog } from './live-catalog.ts';
import { ReadinessCheck } from './readiness.ts';

/** The parts behind the endpoints. */
export interface EndpointsParts {
  readonly config: Config;
  /** The current ones: a reload may change them. */
  readonly limits: () => Config['limits'];
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly accounting: Accounting;
  readonly keyService: KeyService;
  readonly liveCatalog: LiveCatalog;
  readonly drains: DrainView;
  readonly health: Health;
  readonly engines: Engines;
  readonly lanes: SlotAcquirer;
  readonly tokens: TokenizerPool;
  readonly observer: GenerationObserver;
  readonly openSessions: LinkedList<Session>;
  readonly tracer: CallTracer | null;
  /** Whether the server is shutting down and accepts no new connections. */
  readonly isStopping: () => boolean;
}

type TargetParts = Pick<EndpointsParts, 'limits' | 'clock' | 'log' | 'liveCatalog' | 'engines' | 'lanes'>;

/** How long another node may take to write its journal to the database. */
const othersSettleWithinMs = 500;
/** The version of the API document; the paths have their own (spec:api/20.1). */
const apiVersion = '1.0.0';

/** All endpoints with their handlers. */
export function endpoints(parts: EndpointsParts): readonly AnyRoute[] {
  const { config, limits, database, clock, accounting, liveCatalog, health } = parts;
  const { accounts, settlements, nodes } = accounting;
  const { samples, syncKey } = config.datasets;
  const maxBodyBytes = (): number => limits().bodyBytes;
  const { isStopping } = parts;
  const ready = new ReadinessCheck({ database, clock, isFresh: () => accounting.feed.isFresh, isStopping });
  const routes: readonly AnyRoute[] = [
    ...inferenceRoutes(inferenceOf(parts)),
    ...keyRoutes({ keyService: parts.keyService, accounts, clock, maxBodyBytes }),
    ...accountRoutes({ accounts, current: (key) => currentKey(accounting, key), clock }),
    ...datasetRoutes({ database, clock, samples: samples && syncKey === null }),
    ...generationRoutes({
      settlements,
      refusals: accounting.refusals,
      readRefusal: (accountId, uuid) => readRefusal(database, accountId, uuid),
      readGeneration: (accountId, uuid) => readGenerationSoon({ database, clock, nodes }, accountId, uuid),
    }),
    ...modelRoutes({ catalogue: () => liveCatalog.catalogue, health, clock }),
    ...providerRoutes(() => liveCatalog.config),
    ...probeRoutes(() => ready.state()),
    ...documentationRoutes(() => routes, apiVersion),
  ];
  return routes;
}

/** What calls of candidates need. */
export function targetsOf({ limits, clock, log, liveCatalog, engines, lanes }: TargetParts): TargetResolver {
  return {
    provider: (slug) => liveCatalog.provider(slug),
    engine: (baseUrl) => engines.at(baseUrl),
    slots: lanes,
    slotKey: (slot) => liveCatalog.config.slots.find(({ name }) => name === slot)?.apiKey ?? null,
    engineDialect: openaiDialect,
    clock,
    log,
    limits,
  };
}

/** The parts of an inference call. */
function inferenceOf({
  limits,
  clock,
  log,
  accounting,
  liveCatalog,
  drains,
  health,
  engines,
  lanes,
  tokens,
  observer,
  openSessions,
  tracer,
}: EndpointsParts): Parameters<typeof inferenceRoutes>[0] {
  return {
    accounts: accounting.accounts,
    settlements: accounting.settlements,
    catalogue: () => liveCatalog.catalogue,
    drains,
    chain: {
      clock,
      health,
      limits,
      targets: targetsOf({ limits, clock, log, liveCatalog, engines, lanes }),
    },
    clock,
    spendLimits: accounting.spendLimits,
    openReservation: accounting.openReservation,
    openSessions,
    sizes: new CompletionSizes(),
    refusals: accounting.refusals,
    observer,
    tracer,
    count: (texts, enough) => tokens.count(texts, enough),
  };
}

/** Reads the spend of a key from memory while no other node spends with it. */
async function currentKey({ nodes, keys }: Accounting, key: Key): Promise<Key> {
  if (!nodes.isAlone || !keys.isKnown(key.row.id)) await key.withPin(keys.refresh(key.row.id));
  return key;
}

/**
 * A record is readable before the last byte of its response is sent (spec:api/16.3), also through
 * another node while the first has it only in its journal.
 */
async function readGenerationSoon(
  { database, clock, nodes }: Pick<EndpointsParts, 'database' | 'clock'> & Pick<Accounting, 'nodes'>,
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
