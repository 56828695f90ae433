import { hostname } from 'node:os';
import type { Served } from '../http/serve.ts';
import { bufferKinds } from '../memory/budget.ts';
import { addCounter, addGauge, type Registry } from '../metrics/registry.ts';
import type { RunningConfiguration } from '../pages/context.ts';
import type { GatewayCore } from './gateway-core.ts';

/**
 * Registers what the metrics page shows of the gateway itself, beside its slots and its upstreams.
 */
export function addGatewayMetrics(core: GatewayCore, server: Served): void {
  const { registry } = core;
  const gauge: AddGauge = (name, help, read) => addGauge(registry, { name, help }, () => [{ value: read() }]);
  addRequestState(gauge, core, server);
  addJournalState(gauge, core);
  addCounter(registry, { name: 'naru_journal_syncs_total', help: 'Group syncs of the journal.' }, () => [
    { value: core.accounting.journal.stats().syncs },
  ]);
  addCounter(
    registry,
    {
      name: 'naru_refused_without_database_total',
      help: 'Requests that got 500 at once because the database, or the server of it that they need, was away.',
    },
    () => [{ value: core.accounting.waits.refused }],
  );
  addUpkeep(gauge, core);
  gauge(
    'naru_published_edition',
    'The published edition whose prices are billed.',
    () => core.liveCatalog.served.edition,
  );
  gauge(
    'naru_price_differences',
    'Prices that the configuration adds, lacks or states otherwise than the published edition; the edition is billed.',
    () => core.liveCatalog.served.differences,
  );
  addBuild(core);
  addMemoryState(gauge, core);
  addDatabaseServers(core);
  addCertificates(core);
}

function addBuild({ registry, liveCatalog, version }: GatewayCore): void {
  const help =
    'What runs, and where: the host, the version, the hash of the configuration and the published edition; always 1.';
  const labelNames = ['hostname', 'version', 'configuration', 'edition'];
  addGauge(registry, { name: 'naru_build_info', help, labelNames }, () => {
    const { configurationHash: configuration, served } = liveCatalog;
    const labels = { hostname: hostname(), version, configuration, edition: String(served.edition) };
    return [{ labels, value: 1 }];
  });
}

/** Registers how the last reload of the configuration ended; a start counts as one. */
export function addReload(
  registry: Registry,
  lastReload: () => RunningConfiguration['lastReload'],
  startedAtMs: number,
): void {
  const gauge: AddGauge = (name, help, read) => addGauge(registry, { name, help }, () => [{ value: read() }]);
  gauge(
    'naru_configuration_last_reload_successful',
    'Whether the last reload of the configuration took effect: 1, or 0 where the old one stays.',
    () => ((lastReload()?.error ?? null) === null ? 1 : 0),
  );
  gauge(
    'naru_configuration_last_reload_timestamp_seconds',
    'When the configuration was last read, whether it took effect or not, in seconds since 1970.',
    () => (lastReload()?.atMs ?? startedAtMs) / 1000,
  );
}

function addCertificates({ registry, certificates }: GatewayCore): void {
  const name = 'naru_certificate_expiry_timestamp_seconds';
  const help =
    'When the certificate at auth.public_url or admin.public_url expires, in seconds since 1970; no series: not read, or no TLS.';
  addGauge(registry, { name, help, labelNames: ['address'] }, () =>
    certificates.flatMap(({ origin, expiresAtMs }) =>
      origin === null || expiresAtMs === null
        ? []
        : [{ labels: { address: origin }, value: expiresAtMs / 1000 }],
    ),
  );
}

/** Registers a gauge without labels. */
type AddGauge = (name: string, help: string, read: () => number) => void;

function addRequestState(gauge: AddGauge, { accounting, clock }: GatewayCore, server: Served): void {
  const { accounts, keys, queues, settlements } = accounting;
  gauge('naru_requests_in_flight', 'Requests whose response is not complete.', () => server.inFlight());
  gauge(
    'naru_requests_waiting_for_credit',
    'Requests that wait until earlier requests of their account or key are settled.',
    () => queues.waiting,
  );
  gauge(
    'naru_settlement_backlog',
    'Settlements that are durable and not yet in the database.',
    () => settlements.backlog,
  );
  gauge(
    'naru_known_accounts',
    'Accounts in memory; unused ones are evicted when there are many.',
    () => accounts.size,
  );
  gauge('naru_known_keys', 'Keys in memory; unused ones are evicted when there are many.', () => keys.size);
  gauge(
    'naru_clock_ahead_seconds',
    'Lead of the clock of this node over that of the database; negative: behind.',
    () => clock.aheadMs / 1000,
  );
}

function addJournalState(gauge: AddGauge, { accounting, alarms }: GatewayCore): void {
  const { settlements, journal } = accounting;
  gauge('naru_journal_bytes', 'Bytes of journal segments.', () => journal.stats().bytes);
  gauge(
    'naru_journal_kept_bytes',
    'Bytes of settled segments that are kept until all standbys of the database have their settlements.',
    () => journal.stats().keptBytes,
  );
  gauge(
    'naru_quarantined_settlements',
    'Settlements that the database rejects, on all nodes; see naru ledger quarantine.',
    () => alarms.current.quarantined + settlements.unstored,
  );
  gauge(
    'naru_lost_nodes',
    'Nodes that did not shut down cleanly and whose journals may hold charges; see naru node list.',
    () => alarms.current.lostNodes,
  );
  gauge(
    'naru_journal_foreign_segments',
    'Segments that were set aside because they belong to another database or node; see naru node recover.',
    () => journal.stats().foreign,
  );
}

/** Times are seconds since 1970, as Prometheus compares them with `time()`. */
function addUpkeep(gauge: AddGauge, { alarms }: GatewayCore): void {
  gauge(
    'naru_last_backup_timestamp_seconds',
    'When the last backup was made, in seconds since 1970; before the first: when the database was created.',
    () => alarms.current.lastBackupAtMs / 1000,
  );
  gauge(
    'naru_last_verification_timestamp_seconds',
    'When the ledger was last verified, in seconds since 1970; before that: when the database was created.',
    () => alarms.current.lastVerificationAtMs / 1000,
  );
  gauge(
    'naru_ledger_differences',
    'Differences that the last verification of the ledger found.',
    () => alarms.current.differences,
  );
}

function addMemoryState(gauge: AddGauge, { registry, budget }: GatewayCore): void {
  addGauge(
    registry,
    {
      name: 'naru_held_bytes',
      help: 'Memory in use by requests: bodies, complete responses and incomplete events of upstreams, and data that clients have not read yet.',
      labelNames: ['kind'],
    },
    () =>
      bufferKinds.map((kind) => ({
        labels: { kind },
        value: budget.heldAs(kind),
      })),
  );
  gauge(
    'naru_held_bytes_limit',
    'Limit of the memory that all requests together may use.',
    () => budget.totalBytes,
  );
  addCounter(
    registry,
    { name: 'naru_shed_requests_total', help: 'Requests that were refused for lack of memory.' },
    () => [{ value: budget.refusedCount }],
  );
}

function addDatabaseServers({ registry, database }: GatewayCore): void {
  const help = 'Shards of a server of a distributed database that does not respond; 0: it responds.';
  addGauge(registry, { name: 'naru_database_shards_away', help, labelNames: ['server'] }, () =>
    database.placement.servers.map(({ name, parts, isAway }) => ({
      labels: { server: name },
      value: isAway ? parts.length : 0,
    })),
  );
}
