import type { ThoughtRules } from './thoughts.ts';

/** What one API that speaks this dialect does differently from the others. */
export interface ProviderRules {
  /** Its hosts: a base URL on one of them, or below it, is of this API. */
  readonly hosts: readonly string[];
  readonly thoughts: ThoughtRules;
}

const noThoughts: ThoughtRules = { fields: [], details: 'none' };

/** The APIs that are known, by the name that naru.yaml calls them. `generic` is every other one. */
export const providers = {
  generic: {
    hosts: [],
    thoughts: { fields: ['reasoning_content', 'reasoning'], details: 'beyond text' },
  },
  openai: { hosts: ['api.openai.com'], thoughts: noThoughts },
  azure: { hosts: ['openai.azure.com', 'services.ai.azure.com'], thoughts: noThoughts },
  deepseek: {
    hosts: ['api.deepseek.com'],
    thoughts: { fields: ['reasoning_content'], details: 'none', placeholder: ' ' },
  },
  moonshot: {
    hosts: ['api.moonshot.ai', 'api.moonshot.cn', 'api.kimi.com'],
    thoughts: { fields: ['reasoning_content'], details: 'none', placeholder: ' ' },
  },
  mistral: { hosts: ['api.mistral.ai'], thoughts: { fields: [], details: 'none', asPart: true } },
  groq: { hosts: ['api.groq.com'], thoughts: { fields: ['reasoning'], details: 'none' } },
  openrouter: { hosts: ['openrouter.ai'], thoughts: { fields: ['reasoning'], details: 'all' } },
} as const satisfies Record<string, ProviderRules>;

export type ProviderKind = keyof typeof providers;

/** The rules of an API by its name. */
export function rulesOf(kind: ProviderKind): ProviderRules {
  return providers[kind];
}

/** The rules of the API behind a base URL, by its host. */
export function rulesOfUrl(baseUrl: string): ProviderRules {
  const { hostname } = new URL(baseUrl);
  const all: readonly ProviderRules[] = Object.values(providers);
  const known = all.find(({ hosts }) =>
    hosts.some((host) => hostname === host || hostname.endsWith(`.${host}`)),
  );
  return known ?? providers.generic;
}
