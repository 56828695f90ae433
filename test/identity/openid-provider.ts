import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';

/** The provider process of a test. */
export interface OpenIdProvider {
  readonly issuer: string;
  /**
   * Signs in as `subject|address|verified|group,group`; returns the address to which the browser is sent back.
   */
  visit(url: string, person: string): Promise<URL>;
  stop(): void;
}

export async function startProvider(...redirectUris: readonly string[]): Promise<OpenIdProvider> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'oidc-provider-child.ts'), ...redirectUris],
    {
      stdio: ['pipe', 'pipe', 'ignore'],
    },
  );
  const port = await new Promise<string>((resolve, reject) => {
    child.stdout?.once('data', (line) => resolve(String(line).trim()));
    child.once('exit', () => reject(new Error('the provider did not start')));
  });
  const issuer = `http://127.0.0.1:${port}`;
  return {
    issuer,
    visit: (url, person) => visit(issuer, redirectUris, url, person),
    stop: () => void child.kill(),
  };
}

/** Tells the provider about a person; returns its subject. */
export async function statePerson(issuer: string, person: string): Promise<string> {
  const [subject = '', email, verified, groups] = person.split('|');
  const body = {
    email,
    ...(verified === 'unstated' ? {} : { email_verified: verified === 'true' }),
    groups: groups?.split(','),
  };
  await fetch(`${issuer}/people/${subject}`, { method: 'PUT', body: JSON.stringify(body) });
  return subject;
}

/** Does what a browser does at the provider; returns the address to which it is sent back. */
async function visit(
  issuer: string,
  redirectUris: readonly string[],
  url: string,
  person: string,
): Promise<URL> {
  const subject = await statePerson(issuer, person);
  const cookies = new Map<string, string>();
  let next = new URL(url);
  let form: URLSearchParams | null = null;
  for (let hops = 0; hops < 12; hops += 1) {
    const response: Response = await fetch(next, {
      method: form === null ? 'GET' : 'POST',
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form === null ? {} : { body: form }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    const location = response.headers.get('location');
    form = null;
    if (location !== null) {
      next = new URL(location, next);
      if (redirectUris.some((uri) => next.href.startsWith(uri))) return next;
      continue;
    }
    const page = await response.text();
    const action = /action="([^"]+)"/.exec(page)?.[1];
    assert.ok(action !== undefined, page.slice(0, 2_000));
    form = page.includes('value="login"')
      ? new URLSearchParams({ prompt: 'login', login: subject, password: 'x' })
      : new URLSearchParams({ prompt: 'consent' });
    next = new URL(action, next);
  }
  return assert.fail('the provider sent the browser around');
}
