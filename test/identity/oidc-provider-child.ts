/**
 * A real OpenID provider for tests, as a process of its own: its arguments are the redirect addresses,
 * and it prints its port. `PUT /people/SUBJECT` states the address and groups of a person, who then
 * signs in by its subject and any password.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
// @ts-expect-error the package has no types
import Provider from 'oidc-provider';

const redirectUris = process.argv.slice(2);
const people = new Map<string, object>();
const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    clients: [
      {
        client_id: 'naru',
        client_secret: 'secret-of-the-client',
        redirect_uris: redirectUris,
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name'],
      groups: ['groups'],
    },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true } },
    cookies: { keys: ['of the test'] },
    findAccount: (_context: unknown, sub: string) => ({
      accountId: sub,
      claims: () => ({ sub, ...people.get(sub), name: `Person ${sub}` }),
    }),
  });
  const answer = provider.callback();
  server.on('request', async (request, response) => {
    if (request.method !== 'PUT') return answer(request, response);
    const body: Buffer[] = [];
    for await (const piece of request) body.push(piece);
    people.set(request.url?.slice('/people/'.length) ?? '', JSON.parse(Buffer.concat(body).toString()));
    response.end();
  });
  process.stdout.write(`${port}\n`);
});
process.stdin.resume().on('end', () => process.exit(0));
