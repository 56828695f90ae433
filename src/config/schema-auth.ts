import { z } from 'zod';
import {
  checked,
  choice,
  flag,
  list,
  object,
  optional,
  secret,
  shaped,
  text,
  withDefault,
  won,
} from './fields.ts';
import { encryptedUrl, originUrl } from './validators.ts';

const oidc = object('An OpenID provider with which owners and operators sign in. Needs `public_url`.', {
  name: optional(text('What the button of the sign-in page calls it; by default the host of `issuer`.')),
  issuer: checked(
    'The issuer, as the provider states it; https, except for a loopback address.',
    encryptedUrl,
  ),
  client_id: text('The client id that the provider issued.'),
  client_secret: secret('The client secret that the provider issued.'),
  allowed_domains: list(
    'The domains of e-mail addresses that may sign in; empty: all.',
    shaped(
      'A domain in lower case.',
      /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/,
      'must be a domain in lower case, such as example.com',
    ),
  ).prefault([]),
  create_accounts: withDefault(
    flag(
      'Whether a person whose verified address has no account gets a new one; otherwise an operator invites it.',
    ),
    'false',
  ),
  assumes_verified_email: withDefault(
    flag(
      'Whether an address counts as verified of which the provider does not state it, such as Microsoft Entra ID. Only for an issuer whose addresses none but your administrators set.',
    ),
    'false',
  ),
  operator_roles: z
    .record(
      shaped('A group.', /^[^\0]{1,200}$/su, 'must be a group of at most 200 characters'),
      choice('A role.', ['viewer', 'support', 'admin']),
    )
    .meta({
      description:
        'The role of an operator by its group at the provider; the highest counts. Nobody without one of these groups becomes an operator; a session does not end with the group, so remove who left with `naru operator remove`. Needs `admin.public_url`; empty: operators do not sign in at the provider.',
    })
    .prefault({}),
  groups_claim: withDefault(text('The claim of the provider that lists the groups of a person.'), 'groups'),
}).transform((oidc) => ({ ...oidc, name: oidc.name ?? new URL(oidc.issuer).host }));

/** Sign-in to the console and the dashboard. */
export const auth = object('Sign-in to the console and the dashboard.', {
  public_url: optional(
    checked(
      'The origin at which browsers reach the dashboard, such as https://naru.example.com: for links, passkeys and the OpenID provider. By default links have the address of `listen`.',
      originUrl,
      (url) => new URL(url).origin,
    ),
  ),
  support_credit_limit_krw: withDefault(
    won('The most credit in won that an operator with the role support may grant in a day (KST).'),
    '100000',
  ),
  oidc: optional(oidc),
});
