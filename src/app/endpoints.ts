import type { Key } from '../accounts/key.ts';
import { accountRoutes } from '../api/account.ts';
import { datasetRoutes } from '../api/datasets.ts';
import { documentationRoutes } from '../api/documentation.ts';
import { generationRoutes } from '../api/generation.ts';
import { inferenceRoutes } from '../api/inference.ts';
import { keyRoutes } from '../api/keys.ts';
import { modelRoutes } from '../api/models.ts';
import { paymentRoutes } from '../api/payments.ts';
import { probeRoutes } from '../api/probes.ts';
import { providerRoutes } from '../api/providers.ts';
import type { AnyRoute } from '../api/route.ts';
import { openaiDialect } from '../dialects/openai/index.ts';
import { findGeneration, findRefusal } from '../generations/generations-sql.ts';
import { CompletionSizes } from '../inference/estimate.ts';
import type { TargetResolver } from '../inference/upstream-target.ts';
import { pause } from '../time/clock.ts';
import type { Accounting } from './accounting.ts';
import type { GatewayCore } from './gateway-core.ts';
import { ReadinessCheck } from './readiness.ts';

/** How long another node may take to write its journal to the database. */
const othersSettleWithinMs = 500;
/** The version of the API document; the paths have their own (spec:api/20.1). */
const apiVersion = '1.0.0';

/** All endpoints with their handlers; `isStopping`: the server accepts no new connections. */
export function endpoints(core: GatewayCore, isStopping: () => boolean): readonly AnyRoute[] {
  const { config, limits, database, clock, accounting, liveCatalog, health } = core;
  const { accounts, settlements } = accounting;
  const { samples, syncKey } = config.datasets;
  const maxBodyBytes = (): number => limits().bodyBytes;
  const catalogue = () => liveCatalog.catalogue;
  const ready = new ReadinessCheck({ database, clock, isFresh: () => accounting.feed.isFresh, isStopping });
  const routes: readonly AnyRoute[] = [
    ...inferenceRoutes(inferenceOf(core)),
    ...keyRoutes({ keyService: core.keyService, catalogue, accounts, clock, maxBodyBytes }),
    ...accountRoutes({ accounts, current: (key) => currentKey(accounting, key), clock }),
    ...datasetRoutes({ database, clock, samples: samples && syncKey === null }),
    ...generationRoutes({
      settlements,
      refusals: accounting.refusals,
      readRefusal: (accountId, uuid) => findRefusal(database, accountId, uuid),
      readGeneration: (accountId, uuid) => readGenerationSoon(core, accountId, uuid),
    }),
    ...modelRoutes({ catalogue, health, clock }),
    ...providerRoutes(() => liveCatalog.config),
    ...(core.payments === null ? [] : paymentRoutes(core.payments, core.log)),
    ...probeRoutes(() => ready.state()),
    ...documentationRoutes(() => routes, apiVersion),
  ];
  return routes;
}

/** What calls of candidates need. */
export function targetsOf({ limits, clock, log, liveCatalog, engines, lanes }: GatewayCore): TargetResolver {
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
function inferenceOf(core: GatewayCore): Parameters<typeof inferenceRoutes>[0] {
  const { limits, clock, accounting, liveCatalog, drains, health, tokens, observer, openSessions, tracer } =
    core;
  const { rate } = core;
  return {
    accounts: accounting.accounts,
    settlements: accounting.settlements,
    catalogue: () => liveCatalog.catalogue,
    drains,
    chain: {
      clock,
      health,
      limits,
      targets: targetsOf(core),
    },
    clock,
    spendLimits: accounting.spendLimits,
    openReservation: accounting.openReservation,
    openSessions,
    sizes: new CompletionSizes(),
    refusals: accounting.refusals,
    rate,
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
  { database, clock, accounting: { nodes } }: GatewayCore,
  accountId: number,
  uuid: string,
): ReturnType<typeof findGeneration> {
  const endMs = clock.monotonic() + othersSettleWithinMs;
  for (;;) {
    const row = await findGeneration(database, accountId, uuid);
    if (row !== null || nodes.isAlone || clock.monotonic() >= endMs) return row;
    await pause(clock, 25, new AbortController().signal);
  }
}
