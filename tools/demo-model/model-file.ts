import { special, type Vocabulary } from './bpe.ts';
import { ggufOf, type MetadataValue, type Tensor } from './gguf.ts';
import type { Matrix } from './kernel.ts';
import { type Model, normEpsilon, rotaryBase } from './model.ts';

/**
 * The context length. Nothing in the model depends on absolute positions, so the value is a choice.
 */
const contextLength = 32_768;

/**
 * The chat template for other engines; the demo engine formats prompts itself
 * (`demo-engine/prompt.ts`).
 */
const chatTemplate =
  "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'assistant' %}" +
  "{{ '<|assistant|>' + (m['content'] or '') + eos_token }}" +
  "{% else %}{{ '<|' + m['role'] + '|> ' + (m['content'] or '') | lower }}{% endif %}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}";

/** The GGUF file of a trained model. */
export function modelFileOf(model: Model, vocabulary: Vocabulary): Buffer {
  return ggufOf([...architectureOf(model), ...tokenizerOf(vocabulary)], tensorsOf(model));
}

function architectureOf({ shape }: Model): (readonly [string, MetadataValue])[] {
  const u32 = (key: string, value: number): readonly [string, MetadataValue] => [key, { kind: 'u32', value }];
  const f32 = (key: string, value: number): readonly [string, MetadataValue] => [key, { kind: 'f32', value }];
  const heads = shape.width / 16;
  return [
    ['general.architecture', { kind: 'string', value: 'cohere2' }],
    ['general.name', { kind: 'string', value: 'naru-demo' }],
    u32('general.file_type', 0),
    u32('cohere2.context_length', contextLength),
    u32('cohere2.embedding_length', shape.width),
    u32('cohere2.block_count', shape.layers),
    u32('cohere2.feed_forward_length', shape.feedForward),
    u32('cohere2.attention.head_count', heads),
    u32('cohere2.attention.head_count_kv', heads),
    u32('cohere2.attention.sliding_window', shape.window),
    u32('cohere2.vocab_size', shape.vocabulary),
    u32('cohere2.rope.dimension_count', shape.width / heads),
    f32('cohere2.rope.freq_base', rotaryBase),
    f32('cohere2.attention.layer_norm_epsilon', normEpsilon),
    f32('cohere2.logit_scale', 1),
  ];
}

function tokenizerOf(vocabulary: Vocabulary): (readonly [string, MetadataValue])[] {
  return [
    ['tokenizer.ggml.model', { kind: 'string', value: 'llama' }],
    ['tokenizer.ggml.pre', { kind: 'string', value: 'default' }],
    ['tokenizer.ggml.tokens', { kind: 'strings', value: vocabulary.tokens }],
    ['tokenizer.ggml.scores', { kind: 'f32s', value: vocabulary.scores }],
    ['tokenizer.ggml.token_type', { kind: 'i32s', value: vocabulary.types }],
    ['tokenizer.ggml.bos_token_id', { kind: 'u32', value: special.begin }],
    ['tokenizer.ggml.eos_token_id', { kind: 'u32', value: special.end }],
    ['tokenizer.ggml.unknown_token_id', { kind: 'u32', value: special.unknown }],
    ['tokenizer.ggml.add_bos_token', { kind: 'bool', value: true }],
    ['tokenizer.ggml.add_eos_token', { kind: 'bool', value: false }],
    ['tokenizer.ggml.add_space_prefix', { kind: 'bool', value: false }],
    ['tokenizer.chat_template', { kind: 'string', value: chatTemplate }],
  ];
}

function tensorsOf(model: Model): Tensor[] {
  const linear = (name: string, backward: Matrix): Tensor => ({
    name: `${name}.weight`,
    dimensions: [backward.columns, backward.rows],
    data: backward.data,
  });
  const norm = (name: string, forward: Matrix): Tensor => ({
    name: `${name}.weight`,
    dimensions: [forward.columns],
    data: forward.data,
  });
  return [
    linear('token_embd', model.embedding.backward),
    ...model.layers.flatMap((layer, index) => [
      norm(`blk.${index}.attn_norm`, layer.norm.forward),
      linear(`blk.${index}.attn_q`, layer.query.backward),
      linear(`blk.${index}.attn_k`, layer.key.backward),
      linear(`blk.${index}.attn_v`, layer.value.backward),
      linear(`blk.${index}.attn_output`, layer.attentionOut.backward),
      linear(`blk.${index}.ffn_gate`, layer.gate.backward),
      linear(`blk.${index}.ffn_up`, layer.up.backward),
      linear(`blk.${index}.ffn_down`, layer.down.backward),
    ]),
    norm('output_norm', model.outputNorm.forward),
  ];
}
