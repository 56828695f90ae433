import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { randomFrom } from './arithmetic.ts';
import { encoderOf, learnVocabulary } from './bpe.ts';
import { createKernel } from './kernel.ts';
import { createLearner } from './learn.ts';
import { createModel } from './model.ts';
import { modelFileOf } from './model-file.ts';
import { rngOf } from './rng.ts';
import { createExamples, vocabularyTexts } from './training-data.ts';

const file = new URL('../../demo-engine/model/naru-demo.gguf', import.meta.url);
const checksumFile = new URL('../../demo-engine/model/naru-demo.gguf.sha256', import.meta.url);
/**
 * Found by experiment: the best responses after 2 minutes on one core. `length` and `sequences`
 * define a batch, `merges` the vocabulary.
 */
const recipe = {
  seed: 7,
  merges: 700,
  width: 64,
  layers: 2,
  feedForward: 192,
  window: 96,
  sequences: 4,
  length: 160,
  steps: 2500,
  rate: 7e-3,
};

/**
 * Builds the demo model from the corpus: the same bytes on every machine and every version of Node.
 */
function train(): Buffer {
  const random = randomFrom(recipe.seed);
  const vocabulary = learnVocabulary(vocabularyTexts(), recipe.merges);
  const kernel = createKernel();
  const model = createModel(kernel, { ...recipe, vocabulary: vocabulary.tokens.length }, random);
  const learner = createLearner(kernel, model, recipe.sequences, recipe.length);
  const nextExample = createExamples(encoderOf(vocabulary), rngOf(random), recipe.length);
  let loss = 0;
  // The rate rises over the first steps, then falls to a hundredth.
  for (let step = 1; step <= recipe.steps; step++) {
    const batch = Array.from({ length: recipe.sequences }, nextExample);
    const left = 1 - step / recipe.steps;
    loss += learner.step(batch, recipe.rate * Math.min(1, step / 30) * (left + 0.01));
    if (step % 50 === 0) {
      process.stderr.write(`step ${step} of ${recipe.steps}, loss ${(loss / 50).toFixed(4)}\n`);
      loss = 0;
    }
  }
  return modelFileOf(model, vocabulary);
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Whether the shipped file matches its checksum. */
function shippedFileIsWhole(): boolean {
  return readFileSync(checksumFile, 'utf8').split(' ')[0] === sha256(readFileSync(file));
}

const { check } = parseArgs({ options: { check: { type: 'boolean', default: false } } }).values;
if (check) {
  const whole = shippedFileIsWhole();
  process.stdout.write(
    `demo-engine/model/naru-demo.gguf ${whole ? 'is' : 'IS NOT'} the file of its checksum\n`,
  );
  process.exitCode = whole ? 0 : 1;
} else {
  const bytes = train();
  writeFileSync(file, bytes);
  writeFileSync(checksumFile, `${sha256(bytes)}  naru-demo.gguf\n`);
  process.stdout.write(`${sha256(bytes)}  naru-demo.gguf, ${bytes.length} bytes\n`);
}
