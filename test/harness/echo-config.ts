/**
 * The members of `naru.yaml` with which the model `test/echo` is served by the upstream at `url`,
 * for 1 won a prompt token and 2 won a completion token.
 */
export function echoConfig(url: string): {
  readonly providers: readonly object[];
  readonly models: readonly object[];
} {
  return {
    providers: [{ slug: 'up', name: 'Up', dialect: 'openai', base_url: url, api_key: 'secret-of-up' }],
    models: [
      {
        id: 'test/echo',
        name: 'Echo',
        context_length: 32_768,
        price: { prompt: 1, completion: 2, currency: 'KRW', per: 'token', confirm: true },
        candidates: [{ provider: 'up', model: 'echo' }],
      },
    ],
  };
}
