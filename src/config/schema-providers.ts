import { z } from 'zod';
import { checked, choice, integer, object, optional, secret, shaped, text } from './fields.ts';
import { proxyFault } from './proxies.ts';
import { apiRoot, certificates, pageUrl, withoutSlash } from './validators.ts';
import { providerVariants } from './variants.ts';

const dayMs = 86_400_000;

/** A header that the connection itself writes cannot be set. */
const headerName = z
  .string()
  .regex(
    /^(?!(?:[Hh]ost|[Cc]ontent-[Ll]ength|[Tt]ransfer-[Ee]ncoding|[Cc]onnection)$)[A-Za-z0-9!#$%&'*+.^_`|~-]+$/,
    'is not a header that can be set',
  );
/** Overrides of parameters, whatever the upstream accepts. */
export const parameterOverrides = z
  .record(
    shaped('A parameter.', /^[a-z][a-z0-9_]{0,63}$/, 'must be a name such as top_p'),
    shaped('A name.', /^[a-z][a-z0-9_]{0,63}$/, 'must be a name such as top_p, drop or keep'),
  )
  .meta({
    description: 'Overrides of single parameters, whatever the API accepts: another name, `drop` or `keep`.',
  })
  .prefault({});

/** Headers by their names, in lower case. */
export function secretHeaders(description: string) {
  return z
    .record(headerName, secret('A value.'))
    .meta({ description })
    .transform((headers) =>
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    )
    .prefault({});
}

/** One upstream. */
export const provider = object('An upstream.', {
  slug: shaped(
    'The name by which candidates and requests refer to it.',
    /^[a-z0-9][a-z0-9._-]{0,62}(?:\/[a-z0-9][a-z0-9._-]{0,62})?$/,
    'must be lower-case letters, digits, dots, dashes and underscores, with one slash at most',
  ),
  name: optional(text('The display name; by default the slug.')),
  dialect: choice('The format of its API.', ['openai', 'anthropic', 'google', 'bedrock']),
  variant: optional(
    choice(
      'For `openai`: the API; by default determined by the host of `base_url`. See providers.md.',
      providerVariants,
    ),
  ),
  parameters: parameterOverrides,
  base_url: checked('The root of its API, such as https://api.openai.com/v1.', apiRoot, withoutSlash),
  api_key: optional(secret('Its credential; by default requests have none.')),
  region: optional(
    shaped(
      'For `bedrock`: the AWS region that requests are signed for.',
      /^[a-z]{2,}(?:-[a-z]+)+-\d{1,2}$/,
      'must be a region such as us-east-1',
    ),
  ),
  access_key_id: optional(
    secret('For `bedrock`, instead of `api_key`: signs requests, together with `secret_access_key`.'),
  ),
  secret_access_key: optional(secret('For `bedrock`: belongs to `access_key_id`.')),
  session_token: optional(secret('For `bedrock`: belongs to a temporary `access_key_id`.')),
  headers: secretHeaders('Additional headers of every request. Their values are treated as secrets.'),
  connect_timeout_ms: optional(integer('Instead of `limits.connect_timeout_ms`.', 1, dayMs)),
  first_byte_timeout_ms: optional(integer('Instead of `limits.first_byte_timeout_ms`.', 1, dayMs)),
  ca: optional(
    checked(
      'The certificates (PEM) to trust instead of the usual ones, such as `file:/etc/ssl/company-ca.pem`.',
      certificates,
    ),
  ),
  proxy: optional(
    secret(
      'The proxy of its calls, http:// or https://, with a user and a password where it wants them; by default that of the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`).',
      proxyFault,
    ),
  ),
  max_connections: optional(integer('Maximum connections; unlimited by default.', 1, 100_000)),
  privacy_policy_url: optional(checked('Shown by `GET /providers`.', pageUrl)),
  terms_of_service_url: optional(checked('Shown by `GET /providers`.', pageUrl)),
  status_page_url: optional(checked('Shown by `GET /providers`.', pageUrl)),
}).transform((provider) => ({ ...provider, name: provider.name ?? provider.slug }));
