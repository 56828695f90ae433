import type { z } from 'zod';
import { defaultPorts } from './default-ports.ts';
import {
  checked,
  choice,
  databaseUrl,
  decimal,
  flag,
  integer,
  list,
  object,
  secretOrNothing,
  shaped,
  text,
  withDefault,
  won,
} from './fields.ts';
import { model } from './schema-models.ts';
import { gpu, provider, slot } from './schema-upstreams.ts';
import { address, cidr, httpUrl, loopbackAddress } from './validators.ts';

const dayMs = 86_400_000;
const maxPort = 65_535;

/** Milliseconds of a limit that cannot be disabled. */
function limitMs(description: string) {
  return integer(description, 1, dayMs);
}

const listen = object('Where the API and the pages are served.', {
  host: withDefault(
    checked('The address to listen on: an IP address or a name of this machine.', address),
    '127.0.0.1',
  ),
  port: withDefault(integer('The port; 0 takes a free one.', 0, maxPort), String(defaultPorts.listen)),
});

const admin = object('Where `GET /metrics` is served, and `GET /route` for `naru route`. Loopback only.', {
  host: withDefault(checked('A loopback address.', loopbackAddress), '127.0.0.1'),
  port: withDefault(integer('The port; 0 takes a free one.', 0, maxPort), String(defaultPorts.admin)),
});

const database = object('Where the books are kept.', {
  url: withDefault(
    databaseUrl(
      '`embedded` for the PostgreSQL that comes along, or `postgres://…` for a server of version 15 or later.',
    ),
    'embedded',
  ),
});

const edge = object('What stands between the internet and Naru.', {
  rate_limit: withDefault(
    choice('`builtin`: Naru counts requests per client; `external`: nginx from deploy/ does.', [
      'builtin',
      'external',
    ]),
    'builtin',
  ),
  trusted_proxies: list(
    'Addresses and CIDRs whose `X-Forwarded-For` is believed.',
    checked('An IP address or a CIDR such as 10.0.0.0/8.', cidr),
  ).prefault([]),
});

const keys = object('The keys that Naru issues.', {
  prefix: withDefault(
    shaped(
      'What every key begins with. Keys issued under another prefix are no longer accepted.',
      // Up to 19 characters: with `mgmt-v1-` appended, the log's redaction still recognizes a key.
      /^(?=.{3,19}$)sk-(?:[a-z0-9]+-){0,3}$/,
      'must be sk- and then small letters, digits and dashes, with a dash at the end, such as sk-naru-; at most 19 of them',
    ),
    'sk-naru-',
  ),
  max_per_account: withDefault(
    integer(
      'Keys that an account may have at a time, and keys that it may revoke in 24 hours before it may create another.',
      1,
      1_000_000,
    ),
    '1000',
  ),
});

const log = object('What Naru writes about itself.', {
  level: withDefault(
    choice('The least urgent lines that are written.', ['debug', 'info', 'warn', 'error']),
    'info',
  ),
});

const limits = object('Limits on money, time and size.', {
  debt_floor_krw: withDefault(
    won('An account whose balance is below minus this many won is refused.'),
    '5000',
  ),
  upstream_timeout_ms: withDefault(
    limitMs('From a request to the first byte of a response, over all candidates.'),
    '600000',
  ),
  connect_timeout_ms: withDefault(limitMs('For each connection to a candidate.'), '10000'),
  first_byte_timeout_ms: limitMs(
    'From a request to one provider to the first byte of its response; without it the next two, and `upstream_timeout_ms` for the last candidate.',
  ).optional(),
  fallback_stream_ms: withDefault(
    limitMs(
      'The same for a streamed request, while another candidate is left: this, or four times the p99 of the last half hour if that is longer.',
    ),
    '30000',
  ),
  fallback_whole_ms: withDefault(
    limitMs(
      'The same for a request that is not streamed, which many upstreams send nothing of until it is complete.',
    ),
    '240000',
  ),
  stream_idle_timeout_ms: withDefault(limitMs('Between two pieces of a response.'), '120000'),
  total_timeout_ms: integer(
    'Of the calls to all candidates of a request together, to the last byte; without it there is no such limit.',
    1,
    7 * dayMs,
  ).optional(),
  drain_timeout_ms: withDefault(limitMs('What a stopping server gives to the requests in flight.'), '620000'),
  crash_drain_timeout_ms: withDefault(
    limitMs(
      'What a process that met an internal error which nothing caught gives to the requests in flight. Then it ends, and is started again.',
    ),
    '10000',
  ),
  cold_wait_ms: withDefault(
    integer('A request waits for a starting slot that is expected within this time.', 0, dayMs),
    '5000',
  ),
  keep_alive_comment_ms: withDefault(limitMs('A silent stream gets a comment this often.'), '15000'),
  body_bytes: withDefault(integer('The largest request body.', 1024, 1_073_741_824), '26214400'),
  memory_bytes: integer(
    'What all requests together may hold in memory: bodies, whole answers of upstreams, answers that clients have not taken yet. Beyond it the largest and slowest get a 503. Never less than four times `body_bytes`; without it a quarter of what the process may use, 1 GiB at most. Workers share it.',
    16_777_216,
    1_099_511_627_776,
  ).optional(),
  client_memory_percent: withDefault(
    integer(
      'The share of `memory_bytes` that the requests of one address, or with one key, may hold.',
      1,
      100,
    ),
    '50',
  ),
  min_body_bytes_per_second: withDefault(
    integer(
      'A body that comes more slowly after its first 10 s gets a 408; 0: as slowly as it likes.',
      0,
      1_000_000,
    ),
    '500',
  ),
  body_bytes_per_second: withDefault(
    integer(
      'How fast the bodies of one address, or one key, are read, in each process, after the first `body_bytes`; what is expensive to parse counts for more. Bodies up to 64 KiB do not count. A body that would wait for more than 5 s gets a 429; 0: as fast as they come.',
      0,
      100_000_000_000,
    ),
    '33554432',
  ),
  connections_per_client: withDefault(
    integer(
      'Connections of one client to each process, with `edge.rate_limit: builtin`; one more gets a 429. With `--workers N` a client can have up to N times as many in all.',
      1,
      1_000_000,
    ),
    '1000',
  ),
  requests_per_second: withDefault(integer('Requests per second of one client.', 1, 1_000_000), '30'),
  burst: withDefault(integer('Requests that one client may make at once.', 1, 1_000_000), '60'),
});

const routing = object('When a candidate is tried after the others, because of how it did lately.', {
  circuit_failures: withDefault(
    integer(
      'Failures in a row after which it is tried last, until a probe succeeds; as many in 30 s, if half of all, put it behind the others of its model.',
      1,
      1_000_000,
    ),
    '5',
  ),
  circuit_open_ms: withDefault(
    limitMs(
      'Until the first probe: one request that tries it at its old place. Twice as long after each that fails.',
    ),
    '10000',
  ),
  longest_circuit_open_ms: withDefault(limitMs('The longest time between two probes.'), '300000'),
  cool_down_ms: withDefault(
    limitMs('After a 429 without a `Retry-After` that makes sense. Twice as long each time in a row.'),
    '5000',
  ),
  longest_cool_down_ms: withDefault(
    limitMs('The longest `Retry-After` that is believed, and the longest cool-down.'),
    '600000',
  ),
});

const settlement = object('When an answer counts as paid.', {
  ack: withDefault(
    choice(
      '`journal`: synced to the local disk before the last byte; `database`: committed there before it.',
      ['journal', 'database'],
    ),
    'journal',
  ),
  keep_settled_ms: integer(
    'How long the journal keeps what the database has, for a failover to a standby that lacks some of it; an external database only. Less as soon as every standby has it, at once with 0; without it 600000 while the server has a standby, else 0. Set it where standbys do not show in `pg_stat_replication`.',
    0,
    dayMs,
  ).optional(),
});

const exchange = object('How prices in USD become won. Required when a price is in USD.', {
  usd_krw: decimal('Won for one US dollar.', 'above zero'),
  margin_percent: withDefault(decimal('Added on conversion, in percent.'), '0'),
});

const datasets = object('The rankings and benchmarks.', {
  sync_key: secretOrNothing(
    'The key for the API they are read from; absent or empty: nothing is synced.',
  ).optional(),
  samples: withDefault(flag('Whether samples are served while there is no `sync_key`.'), 'true'),
  base_url: withDefault(checked('The API they are read from.', httpUrl), 'https://openrouter.ai/api/v1'),
});

const metadata = object('Public facts of models, which fill in what rows of `models` leave out.', {
  file: text(
    "The file they are in, from the configuration file's own folder; without it `model-facts.json` in the data directory, or those that came with Naru. `naru models refresh` writes it.",
  ).optional(),
});

/** All members of `naru.yaml` (spec:operator/2.1), for a tree in which every scalar is text. */
export const rootSchema = object('The configuration of Naru.', {
  listen: listen.prefault({}),
  admin: admin.prefault({}),
  database: database.prefault({}),
  edge: edge.prefault({}),
  keys: keys.prefault({}),
  log: log.prefault({}),
  limits: limits.prefault({}),
  routing: routing.prefault({}),
  settlement: settlement.prefault({}),
  exchange: exchange.optional(),
  providers: list('Upstreams that speak a known dialect.', provider).prefault([]),
  slots: list('Local engines, started on demand.', slot).prefault([]),
  gpus: list('The memory that slots share.', gpu).prefault([]),
  models: list('The catalogue: what clients may ask for.', model).prefault([]),
  facts: metadata.prefault({}),
  datasets: datasets.prefault({}),
});

/** The parsed file: defaults filled in, values parsed, references not checked yet. */
export type ParsedFile = z.output<typeof rootSchema>;
