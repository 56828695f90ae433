import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { exp, log, randomFrom, turn } from './arithmetic.ts';
import { encoderOf, learnVocabulary, special } from './bpe.ts';
import { topics } from './corpus.ts';
import { createKernel, type Kernel, type Matrix } from './kernel.ts';
import { createLearner } from './learn.ts';
import { createModel, type Model } from './model.ts';
import { modelFileOf } from './model-file.ts';

test('the shipped model matches its checksum, and the trainer confirms it', async () => {
  const trainer = fileURLToPath(new URL('./train.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [trainer, '--check']);
  assert.equal(stdout, 'demo-engine/model/naru-demo.gguf is the file of its checksum\n');
});

test('exp, log and tanh agree with Math to nine digits', () => {
  for (let x = -80; x <= 80; x += 0.37) {
    assert.ok(Math.abs(exp(x) / Math.exp(x) - 1) < 1e-9, `exp(${x})`);
    assert.ok(Math.abs(log(exp(x)) - x) < 1e-8, `log(exp(${x}))`);
  }
  assert.equal(exp(0), 1);
  for (let angle = 0; angle <= 1; angle += 0.1) {
    const [cosine, sine] = turn(angle);
    assert.ok(Math.abs(cosine - Math.cos(angle)) + Math.abs(sine - Math.sin(angle)) < 1e-12);
  }
});

test('the kernel multiplies as plain loops do', () => {
  const kernel = createKernel();
  const random = randomFrom(1);
  const [a, b] = [filled(kernel, 7, 16, random), filled(kernel, 16, 32, random)];
  const product = kernel.matrix(7, 32);
  kernel.addProduct(product, a, b, 7);
  kernel.addProduct(product, a, b, 7);
  const transposed = kernel.matrix(16, 32);
  kernel.addTransposedProduct(transposed, a, product, 7);
  for (let column = 0; column < 32; column++) {
    assert.ok(Math.abs(at(product, 6, column) - 2 * sum(16, (k) => at(a, 6, k) * at(b, k, column))) < 1e-5);
    assert.ok(
      Math.abs(at(transposed, 3, column) - sum(7, (k) => at(a, k, 3) * at(product, k, column))) < 1e-5,
    );
  }
});

test('every gradient is the slope of the loss', () => {
  const { model, learner, batch } = smallLearner();
  const slopeOf = (weight: Matrix, index: number): number => {
    const before = weight.data[index] ?? 0;
    const [up, down] = [1e-2, -1e-2].map((change) => {
      weight.data[index] = before + change;
      // A rate of zero only updates the transposed copies; the second call then has the loss.
      learner.step(batch, 0);
      return learner.step(batch, 0);
    });
    weight.data[index] = before;
    learner.step(batch, 0);
    return ((up ?? 0) - (down ?? 0)) / 2e-2;
  };
  model.all.forEach((weight, position) => {
    learner.step(batch, 0);
    const steepest = weight.gradient.data.reduce(
      (best, value, index, all) => (Math.abs(value) > Math.abs(all[best] ?? 0) ? index : best),
      0,
    );
    const gradient = weight.gradient.data[steepest] ?? 0;
    const slope = slopeOf(weight.forward, steepest);
    assert.ok(
      Math.abs(slope - gradient) < 0.02 * Math.abs(gradient) + 2e-4,
      `weight ${position}: ${gradient}, but the slope is ${slope}`,
    );
  });
});

test('training twice from one seed produces the same file, and the model has learned', () => {
  const files = [1, 2].map(() => {
    const { model, learner, batch, vocabulary } = smallLearner();
    const losses = Array.from({ length: 40 }, () => learner.step(batch, 1e-2));
    assert.ok((losses.at(-1) ?? 9) < 0.2 * (losses[0] ?? 0));
    return createHash('sha256').update(modelFileOf(model, vocabulary)).digest('hex');
  });
  assert.equal(files[0], files[1]);
});

test('encoding is lossless for every text', () => {
  const vocabulary = learnVocabulary(
    topics.map(({ answer }) => answer),
    60,
  );
  const encode = encoderOf(vocabulary);
  for (const text of [...topics.map(({ answer }) => answer), 'Zebra  quiz', '뷁 😀\n']) {
    const bytes = encode(text).map((id) => {
      const token = vocabulary.tokens[id] ?? '';
      const byte = /^<0x([0-9A-F]{2})>$/.exec(token);
      return byte === null ? Buffer.from(token.replaceAll('▁', ' ')) : Buffer.from(byte[1] ?? '', 'hex');
    });
    assert.equal(Buffer.concat(bytes).toString(), text);
  }
  assert.equal(vocabulary.tokens.length % 16, 0);
});

function smallLearner() {
  const random = randomFrom(5);
  const kernel = createKernel();
  const vocabulary = learnVocabulary(['a naru is a ferry landing'], 5);
  const shape = { vocabulary: vocabulary.tokens.length, width: 32, layers: 2, feedForward: 32, window: 12 };
  const model: Model = createModel(kernel, shape, random);
  const text = [
    special.begin,
    ...encoderOf(vocabulary)('a naru is a ferry landing: the place where you cross over'),
  ];
  const tokens = Array.from({ length: 32 }, (_, index) => text[index % text.length] ?? 0);
  const weights = tokens.map((_, index) => (index % 3 === 0 ? 2 : 1));
  const batch = [
    { tokens, weights },
    { tokens: [...tokens].reverse(), weights: weights.map((weight, index) => (index < 16 ? 0 : weight)) },
  ];
  return { model, vocabulary, batch, learner: createLearner(kernel, model, 2, 32) };
}

function filled(kernel: Kernel, rows: number, columns: number, random: () => number): Matrix {
  const matrix = kernel.matrix(rows, columns);
  matrix.data.forEach((_, index) => {
    matrix.data[index] = random() - 0.5;
  });
  return matrix;
}

function at(matrix: Matrix, row: number, column: number): number {
  return matrix.data[row * matrix.columns + column] ?? 0;
}

function sum(count: number, term: (index: number) => number): number {
  return Array.from({ length: count }, (_, index) => term(index)).reduce((total, value) => total + value, 0);
}
