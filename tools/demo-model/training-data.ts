import { special } from './bpe.ts';
import { fallback, topics } from './corpus.ts';
import type { Example } from './learn.ts';
import {
  asPut,
  babble,
  cased,
  eitherLanguage,
  knownExchange,
  systemPrompt,
  unknownExchange,
} from './questions.ts';
import type { Dice } from './rng.ts';
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

/** The weight of the first token of an answer, which selects the answer; the other tokens have weight 1. */
const firstTokenWeight = 3;

/**
 * Input text in the form of the model: lowercase with a leading space, so that a word is the same token everywhere. The demo engine
 * does the same (`demo-engine/prompt.ts`).
 */
export function heard(text: string): string {
  return ` ${text.toLowerCase()}`;
}

/** The texts from which the vocabulary is learned. */
export function vocabularyTexts(): readonly string[] {
  return [
    ...topics.flatMap(({ questions, answer }) => [...questions.map(heard), answer, answer]),
    ...Object.values(fallback),
    ...[...Object.values(openings).flat(), ...Object.values(cities).flat()].map(heard),
    ...intents.flatMap(({ tools, questions }) => [...tools, ...Object.values(questions).flat()].map(heard)),
    ...Object.values(toolAnswers),
  ];
}

/** Generates conversations: an endless sequence of examples of exactly `length` tokens, the same for the same random choices. */
export function createLessons(encode: Encode, dice: Dice, length: number): () => Example {
  return () => {
    const page = createPage(encode);
    if (dice.chance(0.2)) completePlainText(page, dice);
    else page.show([special.begin]);
    if (dice.chance(0.35)) page.hear(special.system, systemPrompt(dice));
    while (page.tokens.length < length) {
      const kind = dice.roll();
      if (kind < 0.56) chat(page, () => knownExchange(dice), dice);
      else if (kind < 0.76) chat(page, () => unknownExchange(dice), dice);
      else if (kind < 0.92) useTool(page, dice);
      else completePlainText(page, dice);
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
  hear(role: number, text: string): void;
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
    hear: (role, text) => show([role, ...encode(heard(text))]),
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
  dice: Dice,
): void {
  const { question, answer } = exchange();
  if (dice.chance(0.2)) {
    const name = (): string =>
      dice.chance(0.5) ? dice.pick(otherTools) : toolName(dice.pick(intents), dice);
    listTools(page, Array.from({ length: 1 + dice.below(3) }, name), dice);
  }
  page.hear(special.user, question);
  say(page, answer, dice);
}

/** A question for a tool: the call, its result and the answer; or the fallback if no tool is suitable. */
function useTool(page: Page, dice: Dice): void {
  const language = eitherLanguage(dice);
  const intent = dice.chance(0.15) ? intents[0] : dice.pick(intents);
  const question = dice.pick(intent.questions[language]);
  const place = dice.pick(cities[language]);
  const others = Array.from({ length: dice.below(3) }, () => {
    const other = dice.pick(intents);
    return other === intent || dice.chance(0.5) ? dice.pick(otherTools) : toolName(other, dice);
  });
  const tool = toolName(intent, dice);
  const serves = dice.chance(0.85);
  if (serves || dice.chance(0.5))
    listTools(page, serves ? [tool, ...others] : [...others, dice.pick(otherTools)], dice);
  page.hear(special.user, asPut(question.replace('#', place), language, dice));
  if (!serves) {
    say(page, fallback[language], dice);
    return;
  }
  const argument = question.includes('#') ? heard(place) : null;
  page.show([special.assistant]);
  page.teach([special.call, ...page.encode(` ${tool}`), ...(argument === null ? [] : [special.argument])]);
  // The first token of the argument selects the word of the question, so it has the larger weight too.
  page.teach([...(argument === null ? [] : page.encode(argument)), special.end]);
  page.hear(special.toolResult, toolResult(dice));
  say(page, toolAnswers[language], dice);
}

/** Text without turns, for plain completions: a question and its answer, or an answer to continue. */
function completePlainText(page: Page, dice: Dice): void {
  const { question, answer } = knownExchange(dice, 0.4);
  const ids = page.encode(answer);
  const given = 2 + dice.below(4);
  const kind = dice.roll();
  const line = page.encode('\n');
  page.show([special.begin, ...(kind < 0.7 ? page.encode(cased(question, dice)) : ids.slice(0, given))]);
  if (kind < 0.35) page.show(line);
  else if (kind < 0.7) page.teach(line);
  page.teach([...(kind < 0.7 ? ids : ids.slice(given)), special.end]);
}

/** An answer. The ends are easy to learn, so some are cut to make room for more beginnings. */
function say(page: Page, answer: string, dice: Dice): void {
  const ids = page.encode(answer);
  page.show([special.assistant]);
  if (dice.chance(0.85)) {
    page.teach([...ids, special.end]);
    return;
  }
  page.teach(ids.slice(0, 8));
  page.show([special.end]);
}

function listTools(page: Page, names: readonly string[], dice: Dice): void {
  page.show([special.tools, ...page.encode(` ${dice.shuffle(names).join(' ')}`)]);
}

function toolName({ tools }: Intent, dice: Dice): string {
  return dice.pick(toolPrefixes) + dice.pick(tools) + dice.pick(toolSuffixes);
}

function toolResult(dice: Dice): string {
  return dice.pick([
    `${dice.below(1000)}`,
    babble(6, dice),
    `{"value": ${dice.below(100)}}`,
    `${dice.below(40)} degrees`,
  ]);
}
