import { startTestGateway, type TestGateway } from './gateway.ts';
import { startUpstream, type Upstream } from './upstream.ts';
import type { Wire } from './wire.ts';
import { anthropicWire } from './wire-anthropic.ts';
import { bedrockWire } from './wire-bedrock.ts';
import { googleWire } from './wire-google.ts';

/** Every wire format that is not OpenAI's. */
export const wires: readonly Wire[] = [anthropicWire, googleWire, bedrockWire];

/** The model of the tests. */
export const wireModel = 'test/other';

/** A gateway with one upstream of a wire format. */
export interface WireWorld {
  readonly naru: TestGateway;
  readonly upstream: Upstream;
  close(): Promise<void>;
}

/** Starts it. Cached prompt tokens cost a tenth when read, and five quarters or twice when written. */
export async function openWireWorld(
  wire: Wire,
  options: { readonly provider?: object; readonly model?: object; readonly limits?: object } = {},
): Promise<WireWorld> {
  const upstream = await startUpstream();
  const origin = new URL(upstream.url).origin;
  const naru = await startTestGateway({
    models: [
      {
        id: wireModel,
        upstreams: [origin],
        candidates: [{ model: wire.model }],
        model: {
          input_modalities: ['text', 'image', 'file'],
          max_completion_tokens: 32_768,
          price: {
            prompt: 1,
            completion: 2,
            cache_read: 0.1,
            cache_write: 1.25,
            cache_write_1h: 2,
            tiers: [{ tier: 'priority', prompt: 3, completion: 6, cache_write: 4, cache_write_1h: 5 }],
            per: 'token',
            confirm: true,
          },
          ...options.model,
        },
      },
    ],
    config: {
      providers: [{ slug: 'up1', name: 'Upstream 1', ...wire.provider(origin), ...options.provider }],
      ...(options.limits === undefined ? {} : { limits: options.limits }),
    },
  });
  return {
    naru,
    upstream,
    async close() {
      await naru.close();
      await upstream.close();
    },
  };
}
