import { defaultPorts } from './defaults.ts';
import {
  checked,
  choice,
  databaseUrl,
  decimal,
  flag,
  integer,
  list,
  number,
  object,
  optional,
  secret,
  secretOrNothing,
  shaped,
  text,
  withDefault,
  won,
} from './fields.ts';
import { auth } from './schema-auth.ts';
import { backup } from './schema-backup.ts';
import { model } from './schema-models.ts';
import { exchange } from './schema-prices.ts';
import { provider, secretHeaders } from './schema-providers.ts';
import { gpu, slot } from './schema-slots.ts';
import {
  address,
  cidr,
  encryptedUrl,
  httpUrl,
  loopbackAddress,
  mailAddress,
  originUrl,
  withoutSlash,
} from './validators.ts';

const dayMs = 86_400_000;
const maxPort = 65_535;

/** Milliseconds of a limit that cannot be disabled. */
function limitMs(description: string) {
  return integer(description, 1, dayMs);
}

const listen = object('The address of the API and its documentation pages.', {
  host: withDefault(
    checked('The address to listen on: an IP address or a name of this machine.', address),
    '127.0.0.1',
  ),
  port: withDefault(integer('The port; 0 selects a free one.', 0, maxPort), String(defaultPorts.listen)),
});

const admin = object('The address of the console and of `GET /metrics`. Loopback only.', {
  public_url: optional(
    checked(
      'The origin at which browsers reach the console through a proxy on this machine, such as https://console.example.com: for links and cookies. Needs `edge.trusted_proxies`, and a name that no other site has.',
      (value) => originUrl(value) ?? encryptedUrl(value),
      (url) => new URL(url).origin,
    ),
  ),
  host: withDefault(checked('A loopback address.', loopbackAddress), '127.0.0.1'),
  port: withDefault(integer('The port; 0 selects a free one.', 0, maxPort), String(defaultPorts.admin)),
  session_hours: withDefault(
    integer("How long an operator's new session lasts at most; 120 is a working week.", 1, 120),
    '24',
  ),
  session_idle_hours: withDefault(
    integer("After how many hours without a request an operator's new session ends.", 1, 120),
    '12',
  ),
});

const database = object('The database of accounts, keys and settlements.', {
  url: withDefault(
    databaseUrl(
      '`embedded` for the included PostgreSQL, or `postgres://…` for a server of version 15 or later.',
    ),
    'embedded',
  ),
});

const edge = object('Proxies between the internet and Naru.', {
  rate_limit: withDefault(
    choice('`builtin`: Naru counts requests per client; `external`: nginx from deploy/ does.', [
      'builtin',
      'external',
    ]),
    'builtin',
  ),
  trusted_proxies: list(
    'Addresses and CIDRs whose `X-Forwarded-For` is trusted.',
    checked('An IP address or a CIDR such as 10.0.0.0/8.', cidr),
  ).prefault([]),
});

/** What the operator's console compares outstanding credit with. */
const liability = object(
  'Thresholds for prepaid credit, which the console shows; they reject nothing. The defaults are the amounts below which an issuer of electronic prepayment means need not register in Korea (Electronic Financial Transactions Act, since 2024-09-15); ask a lawyer whether they apply to you.',
  {
    outstanding_krw: withDefault(won('Outstanding paid credit in won.'), '3000000000'),
    issued_krw: withDefault(won('Paid credit issued within a year, in won.'), '50000000000'),
  },
);

/** How the sums of a month are taxed. */
const vat = object('Value added tax in the statements of a month (`naru usage export`). It bills nothing.', {
  percent: withDefault(decimal('The rate, in percent.'), '10'),
  included: withDefault(flag('Whether prices contain it; false: it is added.'), 'true'),
});

const payments = object(
  'Payments by card, which grant credit at once. Without this member there are none. Needs `auth.public_url`.',
  {
    provider: choice('`toss`: Toss Payments.', ['toss']),
    secret_key: secret('The secret key that the provider issued.'),
    amounts: list(
      'The amounts in won from which account owners choose.',
      integer('An amount in whole won.', 100, 100_000_000),
      1,
    ),
    base_url: withDefault(
      checked("The provider's API; https, except for a loopback address.", encryptedUrl, withoutSlash),
      'https://api.tosspayments.com',
    ),
  },
);

const line = (description: string) =>
  shaped(description, /^[^\p{Cc}]{1,200}$/u, 'must be one line of 1 to 200 characters');

/** Where to pay, in one language. */
const transfer = (language: string) =>
  object(`In ${language}.`, {
    bank: line('The bank.'),
    account: line('The number of the account.'),
    holder: line('The holder of the account.'),
    note: optional(line('What else to know, such as when transfers are confirmed.')),
  });

const topup = object(
  'Paying by bank transfer, which an operator confirms. Owners see it beside their credit.',
  {
    instructions: object('Where to pay.', { ko: transfer('Korean'), en: transfer('English') }),
    deadline_days: optional(integer('Within how many days of the request to pay.', 1, 90)),
    amounts: list(
      'The amounts in won that are offered; others may be requested too.',
      integer('An amount in whole won.', 1, 1_000_000_000),
    ).prefault([]),
  },
);

const company = object('The company that issues statements.', {
  name: line('Its name.'),
  business_number: optional(
    shaped(
      'Its business number.',
      /^\d{3}-?\d{2}-?\d{5}$/,
      'must be a business number, such as 124-81-00998',
    ),
  ),
  address: optional(line('Its address.')),
});

const mail = object('The mail server that sends messages. Without this member no e-mail is sent.', {
  host: checked('The name or address of the server.', address),
  port: withDefault(integer('The port.', 1, maxPort), '587'),
  security: withDefault(
    choice('`starttls`, `tls` from the first byte (port 465), or `none`, which `password` excludes.', [
      'starttls',
      'tls',
      'none',
    ]),
    'starttls',
  ),
  user: optional(text('The name to sign in with; absent: the server accepts mail without.')),
  password: optional(secret('Its password.')),
  from: checked('The sender, such as naru@example.com.', mailAddress),
});

const webhooks = object('The webhooks to which messages are sent.', {
  private_networks: list(
    'Networks outside the internet to which webhooks may be sent, there also by http://. By default only public addresses.',
    checked('An IP address or a CIDR such as 10.0.0.0/8.', cidr),
  ).prefault([]),
});

const keys = object('The API keys that Naru issues.', {
  prefix: withDefault(
    shaped(
      'The prefix of every key. Keys issued with another prefix are no longer accepted.',
      // Up to 19 characters: with `mgmt-v1-` appended, the log's redaction still recognizes a key.
      /^(?=.{3,19}$)sk-(?:[a-z0-9]+-){0,3}$/,
      'must be sk- followed by lower-case letters, digits and dashes, ending with a dash, such as sk-naru-; at most 19 characters',
    ),
    'sk-naru-',
  ),
  max_per_account: withDefault(
    integer(
      'Maximum number of keys of an account, and of keys that it may revoke in 24 hours before it may create another.',
      1,
      1_000_000,
    ),
    '1000',
  ),
});

const log = object('The log.', {
  level: withDefault(choice('The lowest level that is written.', ['debug', 'info', 'warn', 'error']), 'info'),
});

const limits = object('Limits on money, time and size.', {
  debt_floor_krw: withDefault(
    won('An account whose balance is below minus this many won is refused.'),
    '5000',
  ),
  upstream_timeout_ms: withDefault(
    limitMs('Timeout from a request to the first byte of a response, over all candidates.'),
    '600000',
  ),
  connect_timeout_ms: withDefault(limitMs('Timeout to open a connection to a candidate.'), '10000'),
  first_byte_timeout_ms: optional(
    limitMs(
      'Timeout from a request to one provider to the first byte of its response; by default the next two apply, and `upstream_timeout_ms` for the last candidate.',
    ),
  ),
  fallback_stream_ms: withDefault(
    limitMs(
      'The same for a streamed request while another candidate is left: this, or four times the p99 of the last half hour if that is longer.',
    ),
    '30000',
  ),
  fallback_whole_ms: withDefault(
    limitMs(
      'The same for a non-streamed request, where many upstreams send nothing until the response is complete.',
    ),
    '240000',
  ),
  stream_idle_timeout_ms: withDefault(limitMs('Timeout between two pieces of a response.'), '120000'),
  total_timeout_ms: optional(
    integer(
      'Timeout for the calls to all candidates of a request together, to the last byte; unlimited by default.',
      1,
      7 * dayMs,
    ),
  ),
  drain_timeout_ms: withDefault(
    limitMs('The time that a stopping server gives requests in flight to end.'),
    '620000',
  ),
  crash_drain_timeout_ms: withDefault(
    limitMs(
      'The time that a process gives requests in flight to end after an uncaught internal error. Then it exits, and is restarted.',
    ),
    '10000',
  ),
  cold_wait_ms: withDefault(
    integer('A request waits for a starting slot if it is expected to be ready within this time.', 0, dayMs),
    '5000',
  ),
  keep_alive_comment_ms: withDefault(
    limitMs('A silent stream gets a keep-alive comment at this interval.'),
    '15000',
  ),
  body_bytes: withDefault(integer('The largest request body.', 1024, 1_073_741_824), '26214400'),
  memory_bytes: optional(
    integer(
      'The memory that all requests together may use: bodies, full upstream responses, responses that clients have not read yet. Beyond it the largest and slowest requests get a 503. Never less than four times `body_bytes`; by default a quarter of the memory that the process may use, 1 GiB at most. Workers share it.',
      16_777_216,
      1_099_511_627_776,
    ),
  ),
  client_memory_percent: withDefault(
    integer(
      'The share of `memory_bytes` that the requests with one key may use; without a key, those of one address.',
      1,
      100,
    ),
    '50',
  ),
  min_body_bytes_per_second: withDefault(
    integer('A body that arrives more slowly after its first 10 s gets a 408; 0: no minimum.', 0, 1_000_000),
    '500',
  ),
  connections_per_client: withDefault(
    integer(
      'Maximum connections of one client to each process, with `edge.rate_limit: builtin`; one more gets a 429. With `--workers N` a client can have up to N times as many in total.',
      1,
      1_000_000,
    ),
    '1000',
  ),
  requests_per_second: withDefault(integer('Maximum requests per second of one client.', 1, 1_000_000), '30'),
  burst: withDefault(integer('Requests that one client may make at once.', 1, 1_000_000), '60'),
});

const routing = object('When a candidate is tried after the others because of its recent results.', {
  circuit_failures: withDefault(
    integer(
      'Consecutive failures after which it is tried last, until a probe succeeds; as many within 30 s, if half of all attempts, put it after the others of its model.',
      1,
      1_000_000,
    ),
    '5',
  ),
  circuit_open_ms: withDefault(
    limitMs(
      'The time to the first probe: one request that tries it at its original position. Doubled after each failed probe.',
    ),
    '10000',
  ),
  longest_circuit_open_ms: withDefault(limitMs('The maximum time between two probes.'), '300000'),
  cool_down_ms: withDefault(
    limitMs('The cool-down after a 429 without a valid `Retry-After`. Doubled each consecutive time.'),
    '5000',
  ),
  longest_cool_down_ms: withDefault(
    limitMs('The longest `Retry-After` that is accepted, and the longest cool-down.'),
    '600000',
  ),
}).transform((routing) => ({
  ...routing,
  longestCircuitOpenMs: Math.max(routing.circuitOpenMs, routing.longestCircuitOpenMs),
  longestCoolDownMs: Math.max(routing.coolDownMs, routing.longestCoolDownMs),
}));

const settlement = object('When a response counts as settled.', {
  ack: withDefault(
    choice(
      '`journal`: synced to the local disk before the last byte; `database`: committed there before it.',
      ['journal', 'database'],
    ),
    'journal',
  ),
  keep_settled_ms: optional(
    integer(
      'How long the journal keeps settlements that the database has, for a failover to a standby that lacks some of them; external database only. They are removed earlier once every standby has them, and at once with 0; by default 600000 while the server has a standby, else 0. Set it where standbys are missing in `pg_stat_replication`.',
      0,
      dayMs,
    ),
  ),
});

const datasets = object('The rankings and benchmarks.', {
  sync_key: optional(secretOrNothing('The key of the source API; absent or empty: nothing is synced.')),
  samples: withDefault(flag('Whether samples are served without a `sync_key`.'), 'true'),
  base_url: withDefault(checked('The source API.', httpUrl, withoutSlash), 'https://openrouter.ai/api/v1'),
});

const metadata = object('Public facts of models, which fill in members that rows of `models` omit.', {
  file: optional(
    text(
      "The facts file, relative to the configuration file's folder; by default `model-facts.json` in the data directory, or the facts shipped with Naru. `naru models refresh` writes it.",
    ),
  ),
});

const tracing = object('OpenTelemetry traces of calls. Without this member nothing is traced.', {
  otlp_url: checked(
    'Where spans are sent: OTLP over HTTP with JSON, such as http://127.0.0.1:4318/v1/traces.',
    httpUrl,
  ),
  headers: secretHeaders('Headers of every export. Their values are treated as secrets.'),
  sample_percent: withDefault(
    number(
      'The share of calls that is traced. A call whose trusted proxy began a trace follows its decision.',
      0,
      100,
    ),
    '100',
  ),
});

/** All members of `naru.yaml` (spec:operator/2.1), for a tree in which every scalar is text. */
export const rootSchema = object('The configuration of Naru.', {
  listen: listen.prefault({}),
  admin: admin.prefault({}),
  database: database.prefault({}),
  edge: edge.prefault({}),
  auth: auth.prefault({}),
  liability: liability.prefault({}),
  vat: vat.prefault({}),
  company: optional(company),
  topup: optional(topup),
  payments: optional(payments),
  mail: optional(mail),
  webhooks: webhooks.prefault({}),
  keys: keys.prefault({}),
  log: log.prefault({}),
  limits: limits.prefault({}),
  routing: routing.prefault({}),
  settlement: settlement.prefault({}),
  exchange: optional(exchange),
  providers: list('Upstreams with a known dialect.', provider).prefault([]),
  slots: list('Local engines, started on demand.', slot).prefault([]),
  gpus: list('The memory that slots share.', gpu).prefault([]),
  models: list('The catalogue: the models that clients may request.', model).prefault([]),
  facts: metadata.prefault({}),
  datasets: datasets.prefault({}),
  tracing: optional(tracing),
  backup: optional(backup),
});
