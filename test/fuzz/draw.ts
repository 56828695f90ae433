import { between, type Random, randomFrom } from '../chaos/orders.ts';
import type { Operation, Parameter } from './document.ts';
import { mutations } from './mutations.ts';
import { chance, type Known, pick, validValue } from './values.ts';
import { faultyModels, steadyModels, type World } from './world.ts';

/** One fuzzed request, in parts that can be left out one by one. */
export interface Drawn {
  /** Which it is of its seed. */
  readonly n: number;
  /** The operation that it was made from. */
  readonly operation: Operation;
  readonly method: string;
  readonly path: string;
  /** Names and values as in the target. */
  readonly query: readonly string[];
  /** The kind of credential; its value is the world's. */
  readonly credential: string;
  /** Header lines beside host, authorization and those of the body. */
  readonly headers: readonly string[];
  /** Members of a JSON body, or the raw body. */
  readonly body: Readonly<Record<string, unknown>> | Buffer | null;
  readonly framing: 'length' | 'chunked';
  /** May not be HTTP at all, or be longer than the limit: gets 400 or 401, and a close. */
  readonly unreadable: boolean;
  /** Whether any part of it was made invalid. */
  readonly spoilt: boolean;
}

/** What the fuzzer has learned of the service while it runs. */
export interface Learnt {
  readonly generationIds: string[];
}

/**
 * The request of a number: the same for the same seed and number, independent of earlier ones,
 * except for learned ids.
 */
export function draw(
  seed: number,
  n: number,
  operations: readonly Operation[],
  world: World,
  learnt: Learnt,
): Drawn {
  const random = randomFrom(seed + Math.imul(n, 0x9e3779b1));
  // The numbers after a seed that differs in its low bits only resemble each other at first.
  for (let skipped = 0; skipped < 4; skipped += 1) random();
  const operation = pick(random, weighted(operations));
  const known = knownValues(world, learnt);
  const asIntended: Drawn = {
    n,
    operation,
    method: operation.method,
    path: fillPath(random, operation, known),
    query: operation.parameters.flatMap((each) => drawQuery(random, each, known)),
    credential: rightCredential(random, operation),
    headers: operation.body === null ? [] : ['content-type: application/json'],
    body:
      operation.body === null ? null : (validValue(random, operation.body, known) as Record<string, unknown>),
    framing: 'length',
    unreadable: false,
    spoilt: false,
  };
  if (chance(random, 55)) return asIntended;
  let drawn: Drawn = { ...asIntended, spoilt: true };
  for (let spoils = between(random, 1, 3); spoils > 0; spoils -= 1)
    drawn = pick(random, mutations)(random, drawn);
  return { ...drawn, unreadable: drawn.unreadable || hasLongHead(drawn) };
}

/**
 * Whether its head may be longer than the 64 KiB that are read: what is added here is below 1 KiB.
 */
function hasLongHead({ path, query, headers }: Drawn): boolean {
  return Buffer.byteLength([path, ...query, ...headers].join('\r\n')) > 64_000;
}

/** Inference has the most to go wrong. */
function weighted(operations: readonly Operation[]): readonly Operation[] {
  return operations.flatMap((each) => (each.event === null ? [each] : [each, each, each]));
}

function knownValues(world: World, { generationIds }: Learnt): Known {
  return (name, random) => {
    switch (name) {
      case 'model':
      case 'models':
        if (chance(random, 93)) return pick(random, steadyModels);
        // A silent upstream costs its whole time limit.
        return pick(
          random,
          chance(random, 10) ? faultyModels : ['test/unsteady', 'test/small', 'test/cold', 'test/nothing'],
        );
      case 'author':
        return 'test';
      case 'slug':
        return pick(random, ['echo', 'second', 'unsteady', 'small']);
      case 'hash':
        return chance(random, 80) ? pick(random, world.ownHashes) : pick(random, world.foreignHashes);
      case 'id':
        return generationIds.length === 0 ? undefined : pick(random, generationIds);
      case 'role':
        return pick(random, ['user', 'user', 'system', 'assistant']);
      default:
        return undefined;
    }
  };
}

function rightCredential(random: Random, operation: Operation): string {
  if (!operation.needsKey) return pick(random, ['none', 'none', 'inference', 'malformed']);
  if (operation.path.startsWith('/api/v1/keys')) return 'management';
  return operation.body !== null || /generation$|user$/.test(operation.path)
    ? 'inference'
    : pick(random, ['inference', 'management']);
}

function fillPath(random: Random, operation: Operation, known: Known): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(validValue(random, { type: 'string' }, known, name))),
  );
}

function drawQuery(random: Random, parameter: Parameter, known: Known): string[] {
  if (parameter.in !== 'query' || (!parameter.required && !chance(random, 8))) return [];
  const value = validValue(random, parameter.schema, known, parameter.name);
  return [`${parameter.name}=${encodeURIComponent(String(value))}`];
}
