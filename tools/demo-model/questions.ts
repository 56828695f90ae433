import { fallback, type Language, topics } from './corpus.ts';
import type { Dice } from './rng.ts';
import { closings, noise, openings, strangerQuestions, strangers, systemPrompts } from './tool-names.ts';

/** A question as a user might write it, and its answer. */
export interface Exchange {
  readonly question: string;
  readonly answer: string;
}

/** The most common first messages, which are trained more often than the rest. */
const firstThings = topics.filter(({ questions: [plainest = ''] }) =>
  ['what is naru', '나루가 뭐야', 'hello', '안녕'].includes(plainest),
);

/** A question of the corpus in one of its phrasings; in the given share of cases a common first message. */
export function knownExchange(dice: Dice, firstThingsShare = 0.1): Exchange {
  const { questions, language, answer } = dice.pick(dice.chance(firstThingsShare) ? firstThings : topics);
  const plainest = dice.chance(0.3);
  return { question: asPut(plainest ? (questions[0] ?? '') : dice.pick(questions), language, dice), answer };
}

/** A question outside the corpus, with the fallback answer. */
export function unknownExchange(dice: Dice): Exchange {
  if (dice.chance(0.35)) {
    const question = babble(12, dice);
    return { question, answer: fallback[languageOf(question)] };
  }
  const language = eitherLanguage(dice);
  const kind = dice.roll();
  const stranger =
    kind < 0.5
      ? dice.pick(strangers[language])
      : kind < 0.75
        ? babble(2, dice)
        : inventedWord(language, dice);
  const question = dice.pick(strangerQuestions[language]).replace('#', stranger);
  return { question: asPut(question, language, dice), answer: fallback[language] };
}

/** A question with typical text before and after it, and with typos. */
export function asPut(plain: string, language: Language, dice: Dice): string {
  let text = plain;
  if (language === 'en' && dice.chance(0.25))
    text = text.replace('what is', dice.pick(["what's", 'whats', 'what is']));
  if (dice.chance(0.35)) text = dice.pick(openings[language]) + text;
  if (dice.chance(0.75)) text += dice.pick(closings[language]);
  if (dice.chance(0.1)) {
    const slip = dice.below(text.length);
    text = text.slice(0, slip) + text.slice(slip + 1);
  }
  if (language === 'ko' && dice.chance(0.12)) text = text.replaceAll(' ', '');
  return text;
}

/** A system prompt: a short one as it is, or a long one of noise or repetition that fills the model's window. */
export function systemPrompt(dice: Dice): string {
  const kind = dice.roll();
  if (kind < 0.35) return dice.pick(systemPrompts);
  if (kind < 0.6) return babble(40, dice);
  return `${dice.chance(0.4) ? dice.pick(systemPrompts) : babble(8, dice)} `
    .repeat(1 + dice.below(12))
    .trimEnd();
}

/** Up to `most` words of noise, mostly of one language. */
export function babble(most: number, dice: Dice): string {
  const main = eitherLanguage(dice);
  return Array.from({ length: 1 + dice.below(most) }, () =>
    dice.pick(noise[dice.chance(0.9) ? main : 'en']),
  ).join(' ');
}

/** A meaningless word, like any word outside the training data. */
function inventedWord(language: Language, dice: Dice): string {
  if (language === 'en') {
    return Array.from({ length: 3 + dice.below(6) }, () => 'aeioubcdfghklmnprstvwyz'[dice.below(23)]).join(
      '',
    );
  }
  // Any syllable of Hangul, half of them without a final consonant.
  const syllable = (): number => 0xac00 + dice.below(399) * 28 + (dice.chance(0.5) ? 0 : dice.below(28));
  return Array.from({ length: 2 + dice.below(3) }, () => String.fromCharCode(syllable())).join('');
}

/** English or Korean with equal probability. */
export function eitherLanguage(dice: Dice): Language {
  return dice.chance(0.5) ? 'en' : 'ko';
}

/** The text with its first letter, each word or everything capitalised, or unchanged. */
export function cased(text: string, dice: Dice): string {
  const kind = dice.roll();
  if (kind < 0.3) return text;
  if (kind < 0.9) return text.slice(0, 1).toUpperCase() + text.slice(1);
  return kind < 0.95 ? text.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()) : text.toUpperCase();
}

function languageOf(text: string): Language {
  const hangul = text.match(/[가-힣]+/g)?.length ?? 0;
  return hangul * 2 > text.split(' ').length ? 'ko' : 'en';
}
