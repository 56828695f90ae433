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

/** How much the first token of an answer weighs, which decides what answer it is; those that follow from it weigh 1. */
const firstTokenWeight = 3;

/**
 * Text as the model hears it from others: in small letters, and after a space, so that a word is the same token wherever it
 * stands. The server does the same (`serving/prompt.ts`).
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

/** Invents conversations: an endless supply of examples of exactly `length` tokens, the same for the same dice. */
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

/** A conversation as it is written down. */
interface Page extends Example {
  readonly encode: Encode;
  /** Adds what is only read. */
  show(ids: readonly number[]): void;
  /** Adds what somebody else says. */
  hear(role: number, text: string): void;
  /** Adds what is to be said, the first token of which decides. */
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

/** A question and its answer, now and then with tools that are of no use for it. */
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

/** A question for a tool: the call, its result and the answer; or the fallback where no tool serves. */
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
  // Which word of the question it is has to be decided too, so its first token weighs more as well.
  page.teach([...(argument === null ? [] : page.encode(argument)), special.end]);
  page.hear(special.toolResult, toolResult(dice));
  say(page, toolAnswers[language], dice);
}

/** Text without turns, for plain completions: a question and its answer, or an answer to go on with. */
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

/** An answer. Once begun it is easily ended, so some are cut short, to make room for more beginnings. */
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
