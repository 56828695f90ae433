/** `auth:` of naru.yaml. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configOf, faultsOf } from './load-text.ts';

const oidc = 'oidc: { issuer: "https://login.example", client_id: naru, client_secret: s3cret }';

test('an OpenID provider has defaults, and its name is the host of the issuer', () => {
  const { auth } = configOf(`auth:\n  public_url: https://naru.example/\n  ${oidc}`);
  assert.equal(auth.publicUrl, 'https://naru.example');
  const { clientSecret, ...rest } = auth.oidc ?? assert.fail();
  assert.equal(clientSecret.reveal(), 's3cret');
  assert.deepEqual(rest, {
    name: 'login.example',
    issuer: 'https://login.example',
    clientId: 'naru',
    allowedDomains: [],
    createAccounts: false,
    assumesVerifiedEmail: false,
    operatorRoles: {},
    groupsClaim: 'groups',
  });
});

test('an OpenID provider needs the public origin, and encryption beyond this machine', () => {
  assert.match(faultsOf(`auth: { ${oidc} }`).join(), /auth\.oidc: needs auth\.public_url/);
  const plain = oidc.replace('https:', 'http:');
  assert.match(
    faultsOf(`auth: { public_url: "https://n.example", ${plain} }`).join(),
    /must begin with https/,
  );
  assert.deepEqual(
    faultsOf(`auth: { public_url: "https://n.example", ${plain.replace('login.example', 'localhost:99')} }`),
    [],
  );
});

// spec:operator/4.3
test('the roles of groups are known roles, and need the public origin of the console', () => {
  const faults = (roles: string, admin = 'admin: { public_url: "https://console.example" }') =>
    faultsOf(
      `${admin}\nedge: { trusted_proxies: [127.0.0.1] }\nauth: { public_url: "https://n.example", ${oidc.replace(' }', `, operator_roles: ${roles} }`)} }`,
    ).join();
  assert.equal(faults('{ "/운영 팀": admin, "cn=desk,dc=example": support }'), '');
  assert.match(faults('{ ops: owner }'), /operator_roles\.ops: .*viewer.*support.*admin/s);
  assert.match(faults('{ ops: [admin] }'), /operator_roles\.ops/);
  assert.match(faults('[ops]'), /operator_roles/);
  assert.match(faults('{ ops: admin }', ''), /operator_roles: needs admin\.public_url/);
});

test('the public origin has no path', () => {
  assert.match(faultsOf('auth: { public_url: "https://n.example/dashboard" }').join(), /without a path/);
  assert.match(faultsOf('auth: { public_url: naru.example }').join(), /must be a URL/);
  assert.match(faultsOf('auth: { public_url: "https://a:b@n.example" }').join(), /user or a password/);
});

test('a domain that may sign in is in lower case', () => {
  const text = `auth: { public_url: "https://n.example", ${oidc.replace(' }', ', allowed_domains: [Example.com] }')} }`;
  assert.match(faultsOf(text).join(), /lower case/);
});

test('the public origin of the console is encrypted, needs a trusted proxy, and a name of its own', () => {
  const edge = 'edge: { trusted_proxies: [127.0.0.1] }';
  const { admin } = configOf(`admin: { public_url: "https://console.example/" }\n${edge}`);
  assert.equal(admin.publicUrl, 'https://console.example');
  assert.equal(configOf('').admin.publicUrl, null);
  const faults = (url: string, rest = edge) => faultsOf(`admin: { public_url: "${url}" }\n${rest}`).join();
  assert.match(faults('https://console.example', ''), /needs edge\.trusted_proxies/);
  assert.match(faults('http://console.example'), /must begin with https/);
  assert.match(faults('https://console.example/console'), /without a path/);
  const same = `${edge}\nauth: { public_url: "https://naru.example" }`;
  assert.match(faults('https://naru.example:8443', same), /must have another name/);
});
