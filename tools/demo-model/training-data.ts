import { special } from './bpe.ts';
import { fallback, topics } from './corpus.ts';
import type { Example } from './learn.ts';
import {
  asPut,
  cased,
  eitherLanguage,
  knownExchange,
  noiseWords,
  systemPrompt,
  unknownExchange,
} from './questions.ts';
import type { Rng } from './rng.ts';
import {
  cities,
  type Intent,
  intents,
  openings,
  otherTools,
  toolAnswers,
  toolPrefixes,
  toolSuffixes,
} from './tool-names.ts';

/**
 * The weight of the first token of an answer, which selects the answer; the other tokens have
 * weight 1.
 */
const firstTokenWeight = 3;

/**
 * Input text in the form of the model: lowercase with a leading space, so that a word is the same
 * token everywhere. The demo engine does the same (`demo-engine/prompt.ts`).
 */
export function asInput(text: string): string {
  return ` ${text.toLowerCase()}`;
}

/** The texts from which the vocabulary is learned. */
export function vocabularyTexts(): readonly string[] {
  return [
    ...topics.flatMap(({ questions, answer }) => [...questions.map(asInput), answer, answer]),
    ...Object.values(fallback),
    ...[...Object.values(openings).flat(), ...Object.values(cities).flat()].map(asInput),
    ...intents.flatMap(({ tools, questions }) => [...tools, ...Object.values(questions).flat()].map(asInput)),
    ...Object.values(toolAnswers),
  ];
}

/**
 * Generates conversations: an endless sequence of examples of exactly `length` tokens, the same for
 * the same random choices.
 */
export function createExamples(encode: Encode, rng: Rng, length: number): () => Example {
  return () => {
    const page = createPage(encode);
    if (rng.chance(0.2)) completePlainText(page, rng);
    else page.show([special.begin]);
    if (rng.chance(0.35)) page.showTurn(special.system, systemPrompt(rng));
    while (page.tokens.length < length) {
      const kind = rng.roll();
      if (kind < 0.56) chat(page, () => knownExchange(rng), rng);
      else if (kind < 0.76) chat(page, () => unknownExchange(rng), rng);
      else if (kind < 0.92) useTool(page, rng);
      else completePlainText(page, rng);
    }
    return { tokens: page.tokens.slice(0, length), weights: page.weights.slice(0, length) };
  };
}

type Encode = (text: string) => readonly number[];

/** A conversation under construction. */
interface Page extends Example {
  readonly encode: Encode;
  /** Adds text that is not predicted. */
  show(ids: readonly number[]): void;
  /** Adds the text of another speaker. */
  showTurn(role: number, text: string): void;
  /** Adds text to predict; its first token has the larger weight. */
  teach(ids: readonly number[]): void;
}

function createPage(encode: Encode): Page {
  const tokens: number[] = [];
  const weights: number[] = [];
  const show = (ids: readonly number[]): void => {
    tokens.push(...ids);
    weights.push(...ids.map(() => 0));
  };
  return {
    tokens,
    weights,
    encode,
    show,
    showTurn: (role, text) => show([role, ...encode(asInput(text))]),
    teach: (ids) => {
      tokens.push(...ids);
      weights.push(...ids.map((_, index) => (index === 0 ? firstTokenWeight : 1)));
    },
  };
}

/** A question and its answer, sometimes with unrelated tools. */
function chat(
  page: Page,
  exchange: () => { readonly question: string; readonly answer: string },
  rng: Rng,
): void {
  const { question, answer } = exchange();
  if (rng.chance(0.2)) {
    const name = (): string => (rng.chance(0.5) ? rng.pick(otherTools) : toolName(rng.pick(intents), rng));
    listTools(page, Array.from({ length: 1 + rng.below(3) }, name), rng);
  }
  page.showTurn(special.user, question);
  teachAnswer(page, answer, rng);
}

/**
 * A question for a tool: the call, its result and the answer; or the fallback if no tool is
 * suitable.
 */
function useTool(page: Page, rng: Rng): void {
  const language = eitherLanguage(rng);
  const intent = rng.chance(0.15) ? intents[0] : rng.pick(intents);
  const question = rng.pick(intent.questions[language]);
  const city = rng.pick(cities[language]);
  const others = Array.from({ length: rng.below(3) }, () => {
    const other = rng.pick(intents);
    return other === intent || rng.chance(0.5) ? rng.pick(otherTools) : toolName(other, rng);
  });
  const tool = toolName(intent, rng);
  const serves = rng.chance(0.85);
  if (serves || rng.chance(0.5))
    listTools(page, serves ? [tool, ...others] : [...others, rng.pick(otherTools)], rng);
  page.showTurn(special.user, asPut(question.replace('#', city), language, rng));
  if (!serves) {
    teachAnswer(page, fallback[language], rng);
    return;
  }
  const argument = question.includes('#') ? asInput(city) : null;
  page.show([special.assistant]);
  page.teach([special.call, ...page.encode(` ${tool}`), ...(argument === null ? [] : [special.argument])]);
  // The first token of the argument selects the word of the question, so it has the larger weight
  // too.
  page.teach([...(argument === null ? [] : page.encode(argument)), special.end]);
  page.showTurn(special.toolResult, toolResult(rng));
  teachAnswer(page, toolAnswers[language], rng);
}

/**
 * Text without turns, for plain completions: a question and its answer, or an answer to continue.
 */
function completePlainText(page: Page, rng: Rng): void {
  const { question, answer } = knownExchange(rng, 0.4);
  const ids = page.encode(answer);
  const given = 2 + rng.below(4);
  const kind = rng.roll();
  const line = page.encode('\n');
  page.show([special.begin, ...(kind < 0.7 ? page.encode(cased(question, rng)) : ids.slice(0, given))]);
  if (kind < 0.35) page.show(line);
  else if (kind < 0.7) page.teach(line);
  page.teach([...(kind < 0.7 ? ids : ids.slice(given)), special.end]);
}

/** An answer. The ends are easy to learn, so some are cut to make room for more beginnings. */
function teachAnswer(page: Page, answer: string, rng: Rng): void {
  const ids = page.encode(answer);
  page.show([special.assistant]);
  if (rng.chance(0.85)) {
    page.teach([...ids, special.end]);
    return;
  }
  page.teach(ids.slice(0, 8));
  page.show([special.end]);
}

function listTools(page: Page, names: readonly string[], rng: Rng): void {
  page.show([special.tools, ...page.encode(` ${rng.shuffle(names).join(' ')}`)]);
}

function toolName({ tools }: Intent, rng: Rng): string {
  return rng.pick(toolPrefixes) + rng.pick(tools) + rng.pick(toolSuffixes);
}

function toolResult(rng: Rng): string {
  return rng.pick([
    `${rng.below(1000)}`,
    noiseWords(6, rng),
    `{"value": ${rng.below(100)}}`,
    `${rng.below(40)} degrees`,
  ]);
}
