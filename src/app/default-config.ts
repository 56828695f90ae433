import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { engineVariants } from '../config/variants.ts';
import { acceptedParameters } from '../dialects/accepted-parameters.ts';
import { reasoningParameters } from '../dialects/reasoning.ts';
import { type FoundEngine, type FoundModel, readFoundEngines } from '../slots/engine-discovery.ts';
import type { ProcessContext } from './process-context.ts';

/** The program of the demo engine. */
export const demoEngineFile = fileURLToPath(new URL('../../demo-engine/server.ts', import.meta.url));

/** The default price of local models, in won per million tokens. */
const localPrice = { prompt: 400, completion: 1200, currency: 'KRW', per: '1M' };

/**
 * The configuration without a file: the demo model on the demo engine, and the models of local
 * engines detected at the first start. It is text and passes the same checks as a file.
 */
export function builtInConfig(dataDir: string, proc: ProcessContext): string {
  const found = readFoundEngines(dataDir).flatMap((engine) =>
    engine.models.map((model) => ({ engine, model })),
  );
  return stringify({
    slots: [demoSlot(proc), ...found.map(({ engine, model }) => externalSlot(engine, model))],
    models: [demoModel, ...found.map(({ engine, model }) => foundModel(engine, model))],
  });
}

function demoSlot(proc: ProcessContext): object {
  return {
    name: 'demo',
    command: [proc.nodePath, demoEngineFile, '--port', '{port}'],
    ready_path: '/health',
    start_budget_ms: 30_000,
    idle_stop_ms: 900_000,
    max_concurrency: 4,
  };
}

const demoModel = {
  id: 'naru/demo',
  name: 'Naru: Demo',
  description:
    'A very small language model that ships with Naru and answers questions about it, in Korean and English.',
  context_length: 32_768,
  max_completion_tokens: 32_768,
  input_modalities: ['text'],
  supported_parameters: [
    'tools',
    'tool_choice',
    'max_tokens',
    'max_completion_tokens',
    'temperature',
    'top_p',
    'top_k',
    'seed',
    'stop',
  ],
  price: localPrice,
  candidates: [{ slot: 'demo' }],
};

function externalSlot(engine: FoundEngine, model: FoundModel): object {
  const variant = variantOf(engine);
  return {
    name: model.slot,
    external: { base_url: engine.baseUrl, health_path: '/v1/models' },
    ...(variant === undefined ? {} : { variant }),
    model: model.engineName,
    max_concurrency: 4,
  };
}

function foundModel(engine: FoundEngine, model: FoundModel): object {
  return {
    id: model.id,
    name: `${engine.title}: ${model.engineName}`,
    description: `Found on this machine at ${engine.baseUrl}.`,
    context_length: model.contextLength,
    input_modalities: model.images ? ['text', 'image'] : ['text'],
    ...(model.lacks.length === 0 ? {} : { supported_parameters: supportedBy(engine, model) }),
    price: localPrice,
    candidates: [{ slot: model.slot }],
  };
}

/** `vllm`, and at another port than its own `vllm-8080`. */
function variantOf({ name }: FoundEngine): (typeof engineVariants)[number] | undefined {
  return engineVariants.find((one) => name === one || name.startsWith(`${one}-`));
}

/** The parameters of its engine, without capabilities that the model lacks. */
function supportedBy(engine: FoundEngine, { engineName, id, lacks }: FoundModel): readonly string[] {
  const variant = variantOf(engine) ?? 'engine';
  const needs: Readonly<Record<FoundModel['lacks'][number], readonly string[]>> = {
    tools: ['tools', 'tool_choice', 'parallel_tool_calls'],
    thinking: [...reasoningParameters, 'chat_template_kwargs'],
  };
  const missing = new Set(lacks.flatMap((one) => needs[one]));
  return acceptedParameters({ dialect: 'openai', variant, model: engineName, modelId: id, price: {} }).filter(
    (parameter) => !missing.has(parameter),
  );
}
