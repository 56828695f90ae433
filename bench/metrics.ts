/**
 * What the metrics of one request cost: the observations of a streamed inference request, again and
 * again, without a request around them; and one page with every series that there may be
 * (docs/decisions/metrics.md).
 */
import { renderPage } from '../src/app/metrics/page.ts';
import { Registry, readRegistry } from '../src/app/metrics/registry.ts';
import { maxSources, RequestMetrics } from '../src/app/metrics/request-metrics.ts';

const requests = 200_000;
const rounds = 5;

function run(models: number): { readonly registry: Registry; readonly micros: number } {
  const registry = new Registry();
  const metrics = new RequestMetrics(registry);
  const sources = Array.from({ length: models }, (_, n) => ({
    modelId: `vendor/model-${n}`,
    providerTag: `provider-${n % 7}`,
  }));
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) {
    const startedMs = performance.now();
    for (let n = 0; n < requests; n += 1) {
      const source = sources[n % models] ?? null;
      if (source !== null) metrics.firstToken(source, 120);
      metrics.generationEnded({
        source,
        status: 200,
        errorType: null,
        wasStreaming: true,
        durationMs: 900,
        promptTokens: 800,
        completionTokens: 200,
        cost: 12_345_678n,
      });
      metrics.settlementCommitted(25);
      metrics.requestEnded('/api/v1/chat/completions', 200, 900);
    }
    best = Math.min(best, ((performance.now() - startedMs) * 1000) / requests);
  }
  return { registry, micros: best };
}

for (const models of [1, maxSources, 10_000]) {
  const { registry, micros } = run(models);
  const startedMs = performance.now();
  const page = await renderPage([await readRegistry(registry)]);
  const tookMs = performance.now() - startedMs;
  console.log(
    `${models} models: ${micros.toFixed(2)} us a request; a page of ${Math.round(page.length / 1024)} KiB in ${tookMs.toFixed(0)} ms`,
  );
}
