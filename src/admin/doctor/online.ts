import { openPlace } from '../../backup/open-place.ts';
import type { Config, TracingConfig } from '../../config/config.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import { request } from '../../http/client/request.ts';
import { discoverIssuer } from '../../identity/oidc.ts';
import { redact } from '../../log/log.ts';
import { openPaymentProvider } from '../../operations/payment-operations.ts';
import { systemClock, within } from '../../time/clock.ts';
import { listModels } from '../../upstreams/list-models.ts';
import type { Finding } from './findings.ts';

const defaultLimitMs = 10_000;

/** What is wrong with a connection, by the code of its error. */
const faults: readonly (readonly [RegExp, string])[] = [
  [/^(?:ENOTFOUND|EAI_)/, 'DNS'],
  [/^ECONNREFUSED$/, 'refused'],
  [/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'closed'],
  [/^(?:ETIMEDOUT|UND_ERR_\w*TIMEOUT|OAUTH_TIMEOUT|TIMEOUT)$/, 'timeout'],
  [/^(?:EHOSTUNREACH|ENETUNREACH)$/, 'unreachable'],
  [/CERT|SELF_SIGNED|^UNABLE_TO_|^ERR_(?:TLS|SSL)|^EPROTO$/, 'TLS'],
  [/PROXY/, 'proxy'],
];

/**
 * Calls everything outside that the configuration names, all at once, each for at most `limitMs`:
 * the providers, the bucket of backups, the OpenID issuer, the collector and the provider of payments.
 * Nothing of it is billed.
 */
export function examineOnline(config: Config, limitMs = defaultLimitMs): Promise<readonly Finding[]> {
  const { providers, backup, auth, tracing, payments } = config;
  const calls: (readonly [name: string, url: string, work: Promise<unknown>])[] = providers.map((row) => [
    `provider ${row.slug}`,
    row.baseUrl,
    askProvider(row),
  ]);
  if (backup?.s3) calls.push(['backup place', backup.s3.endpoint, askPlace(backup)]);
  if (auth.oidc !== null) calls.push(['OpenID issuer', auth.oidc.issuer, discoverIssuer(auth.oidc)]);
  if (tracing !== null) calls.push(['collector', tracing.otlpUrl, askCollector(tracing)]);
  const paid = openPaymentProvider(config, systemClock);
  // No order has this id.
  if (paid !== null) calls.push(['payments', payments?.baseUrl ?? '', paid.find('naru-doctor')]);
  const late = Object.assign(new Error(`no response within ${limitMs / 1000} s`), { code: 'TIMEOUT' });
  const findings = calls.map(async ([name, url, work]): Promise<Finding> => {
    try {
      const isLate = await within(
        systemClock,
        limitMs,
        work.then(() => false),
        true,
      );
      if (isLate) throw late;
      return { name, ok: true, message: url };
    } catch (error) {
      return { name, ok: false, message: `${url}: ${redact(reasonOf(error))}` };
    }
  });
  return Promise.all(findings);
}

async function askProvider(row: Config['providers'][number]): Promise<void> {
  const { status, reason } = await listModels(row, { cancelReason: null, onCancel: null });
  if (status !== 200 || reason !== '') throw new OperatorError(statusText(status, reason));
}

async function askPlace(backup: Config['backup']): Promise<void> {
  const { signal } = new AbortController();
  const place = await openPlace(backup, { clock: systemClock, signal, maxTries: 1 });
  await place.backups();
}

async function askCollector({ otlpUrl, headers }: TracingConfig): Promise<void> {
  const { status } = await request(otlpUrl, {
    clock: systemClock,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()])),
    },
    body: '{"resourceSpans":[]}',
    timeoutMs: null,
    maxBytes: 65_536,
  });
  if (status >= 300) throw new OperatorError(statusText(status, ''));
}

/** What a status means for who configures the address. */
const meanings: readonly (readonly [statuses: RegExp, meaning: string])[] = [
  [/^40[13]$/, ', it rejects the credential'],
  [/^404$/, ', nothing is at this address: does it lead to the API?'],
  [/^407$/, ', the proxy rejects the credential'],
  [/^3/, ', it redirects, which is not followed: state the address where it leads'],
];

function statusText(status: number, reason: string): string {
  const meaning = meanings.find(([statuses]) => statuses.test(String(status)))?.[1] ?? '';
  return `${status}${meaning}${reason === '' ? '' : ` (${reason.slice(0, 300)})`}`;
}

/** The reason with its kind, such as `DNS: getaddrinfo ENOTFOUND api.example.com`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    const code = 'code' in each && typeof each.code === 'string' ? each.code : each.name;
    const fault = faults.find(([codes]) => codes.test(code));
    if (fault !== undefined) return `${fault[1]}: ${each.message || code}`;
    if (each.cause instanceof Response)
      return statusText(each.cause.status, each.cause.ok ? each.message : '');
  }
  return error.message;
}
