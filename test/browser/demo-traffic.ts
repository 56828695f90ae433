import type { DemoSite } from './demo-site.ts';

const questions = ['나루가 뭐야?', 'What is Naru?', '요금은 어떻게 계산하나요?', '안녕', 'How do I start?'];
const apps = ['사내 챗봇', 'Code review', '번역 도우미', null];
/** Requests of the pictures. */
const calls = 40;
/** A port on which nobody listens. */
const deadUrl = 'http://127.0.0.1:9/v1';

/** UTF-8 in a header, as clients send it. */
function headerOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** The demo configuration with a model whose first candidate is away, so that the second responds. */
export function trafficConfig(config: Readonly<Record<string, unknown>>): object {
  const models = config['models'] as readonly Readonly<Record<string, unknown>>[];
  const [demo] = models;
  const away = { slug: 'away', name: 'Away', dialect: 'openai', base_url: deadUrl, api_key: 'sk-none' };
  const candidates = [{ provider: 'away', model: 'demo' }, { slot: 'demo' }];
  const fallback = { ...demo, id: 'naru/fallback', name: 'Naru: Demo behind a provider', candidates };
  const lost = { ...demo, id: 'naru/away', name: 'Naru: Away', candidates: candidates.slice(0, 1) };
  return { ...config, datasets: { samples: true }, providers: [away], models: [...models, fallback, lost] };
}

/**
 * Real calls of several apps to the demo engine, some of which fail, and what an owner leaves for an
 * operator. Returns the id of a request that the second candidate answered.
 */
export async function makeTraffic({ server, key, installation }: DemoSite): Promise<string> {
  const call = async (model: string, n: number): Promise<string> => {
    const app = apps[n % apps.length];
    const response = await fetch(`${server.origin}/api/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...(app === null
          ? {}
          : {
              'x-title': headerOf(app ?? ''),
              'http-referer': `https://app${n % apps.length}.naru.example`,
            }),
      },
      body: JSON.stringify({
        model,
        stream: n % 3 === 0,
        messages: [{ role: 'user', content: questions[n % questions.length] }],
      }),
    });
    await response.text();
    return response.headers.get('x-generation-id') ?? '';
  };
  // The first ones call the candidate that is away; then its circuit opens.
  const id = await call('naru/fallback', 1);
  for (let n = 0; n < calls; n += 1) await call(n % 5 === 4 ? 'naru/fallback' : 'naru/demo', n);
  for (let n = 0; n < 3; n += 1) await call('naru/away', n);
  await installation.run('key', 'create', '--account', '1', '--name', 'batch', '--limit', '5000');
  await installation.run('account', 'create', '--name', '한강물산');
  return id;
}
