import { type Family, families } from '../providers/families.ts';
import { judge } from '../providers/judge.ts';
import { type ClientWorld, openClientWorld } from './client-world.ts';
import { startUpstream, type Upstream } from './upstream.ts';
import type { UpstreamRequest } from './upstream-openai.ts';
import type { Reply } from './upstream-reply.ts';

/** One family behind its own strict upstream. */
export interface ServedFamily {
  readonly family: Family;
  /** The model of clients. */
  readonly model: string;
  readonly upstream: Upstream;
  /** Why requests were rejected. */
  readonly rejected: readonly string[];
}

/** A gateway with a model of every family. */
export interface FamilyWorld {
  readonly world: ClientWorld;
  readonly served: readonly ServedFamily[];
  /** Responds to requests that their provider accepts. */
  respond(choose: (family: Family, request: UpstreamRequest) => Reply): void;
  close(): Promise<void>;
}

/** Starts it. */
export async function openFamilyWorld(): Promise<FamilyWorld> {
  const served = await Promise.all(
    families.map(async (family) => ({
      family,
      model: `test/${family.api}`,
      upstream: await startUpstream(),
      rejected: [] as string[],
    })),
  );
  const world = await openClientWorld({
    models: served.map(({ family, model, upstream }) => {
      const { origin } = new URL(upstream.url);
      return {
        id: model,
        ...{
          upstreams: [origin],
          provider: family.provider(origin),
          candidates: [{ model: family.model, max_completion_tokens: 8192 }],
        },
      };
    }),
  });
  return {
    world,
    served,
    respond(choose) {
      for (const { family, upstream, rejected } of served)
        upstream.respond((request) => {
          const reason = judge(family.api, request.raw.toString()) ?? family.rule?.(request.body) ?? null;
          if (reason === null) return choose(family, request);
          rejected.push(reason);
          return family.rejects(reason);
        });
    },
    async close() {
      await world.close();
      await Promise.all(served.map(({ upstream }) => upstream.close()));
    },
  };
}
