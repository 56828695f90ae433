import { fallback, type Language, type Topic, topics } from '../corpus.ts';
import { special } from './bpe.ts';
import type { Example } from './learn.ts';
import {
  cities,
  closings,
  type Intent,
  intents,
  noise,
  openings,
  otherTools,
  strangerQuestions,
  strangers,
  systemPrompts,
  toolAnswers,
  toolPrefixes,
  toolSuffixes,
} from './surroundings.ts';

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

/** Invents conversations: an endless supply of examples of exactly `length` tokens, the same for the same `random`. */
export function createLessons(
  encode: (text: string) => readonly number[],
  random: () => number,
  length: number,
): () => Example {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const chance = (share: number): boolean => random() < share;
  const language = (): Language => (chance(0.5) ? 'en' : 'ko');

  /** Some words of noise, mostly of one language. */
  const babble = (most: number): string => {
    const main = language();
    const words = 1 + Math.floor(random() * most);
    return Array.from({ length: words }, () => pick(noise[chance(0.9) ? main : 'en'])).join(' ');
  };

  const asked = (plain: string, tongue: Language): string => {
    let text = plain;
    if (tongue === 'en' && chance(0.25)) text = text.replace('what is', pick(["what's", 'whats', 'what is']));
    if (chance(0.35)) text = pick(openings[tongue]) + text;
    if (chance(0.75)) text += pick(closings[tongue]);
    if (chance(0.1)) text = dropOne(text, random());
    if (tongue === 'ko' && chance(0.12)) text = text.replaceAll(' ', '');
    return text;
  };

  /** Short ones as they are, and long ones, which fill what the model can see, of noise or of one prompt again and again. */
  const systemPrompt = (): string => {
    const kind = random();
    if (kind < 0.5) return pick(systemPrompts);
    return kind < 0.75 ? babble(40) : `${pick(systemPrompts)} `.repeat(1 + Math.floor(random() * 8));
  };

  const known = (): readonly [string, string] => {
    // The two first things anybody asks are taught more often than the rest.
    const topic: Topic = chance(0.08)
      ? pick(topics.filter(({ answer }) => answer.includes('gateway') || answer.includes('게이트웨이')))
      : pick(topics);
    return [
      asked(chance(0.3) ? (topic.questions[0] ?? '') : pick(topic.questions), topic.language),
      topic.answer,
    ];
  };

  const unknown = (): readonly [string, string] => {
    if (chance(0.35)) {
      const text = babble(12);
      return [text, fallback[languageOf(text)]];
    }
    const tongue = language();
    const kind = random();
    const stranger =
      kind < 0.5 ? pick(strangers[tongue]) : kind < 0.75 ? babble(2) : invented(tongue, random);
    return [asked(pick(strangerQuestions[tongue]).replace('#', stranger), tongue), fallback[tongue]];
  };

  return () => {
    const tokens: number[] = [];
    const weights: number[] = [];
    const show = (ids: readonly number[]): void => {
      tokens.push(...ids);
      weights.push(...ids.map(() => 0));
    };
    /** The first token decides which answer it is, so it weighs more than those that follow from it. */
    const teach = (ids: readonly number[]): void => {
      tokens.push(...ids);
      weights.push(...ids.map((_, index) => (index === 0 ? firstTokenWeight : 1)));
    };
    const answer = (text: string): void => {
      const ids = encode(text);
      show([special.assistant]);
      // An answer once begun is easily ended: some are cut short, to make room for more beginnings.
      if (chance(0.7)) teach([...ids, special.end]);
      else {
        teach(ids.slice(0, 8));
        show([special.end]);
      }
    };
    const ask = (question: string): void => show([special.user, ...encode(heard(question))]);
    const listTools = (names: readonly string[]): void =>
      show([special.tools, ...encode(` ${shuffled(names, random).join(' ')}`)]);

    const chat = ([question, reply]: readonly [string, string]): void => {
      if (chance(0.2)) {
        listTools(
          Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
            chance(0.5) ? pick(otherTools) : toolName(pick(intents)),
          ),
        );
      }
      ask(question);
      answer(reply);
    };
    const useTool = (): void => {
      const tongue = language();
      const intent = chance(0.3) ? (intents[0] as Intent) : pick(intents);
      const question = pick(intent.questions[tongue]);
      const place = tongue === 'ko' || chance(0.8) ? pick(cities[tongue]) : invented(tongue, random);
      const others = Array.from({ length: Math.floor(random() * 3) }, () => {
        const other = pick(intents);
        return other === intent || chance(0.5) ? pick(otherTools) : toolName(other);
      });
      const tool = toolName(intent);
      const has = chance(0.85);
      if (has || chance(0.5)) listTools(has ? [tool, ...others] : [...others, pick(otherTools)]);
      ask(asked(question.replace('#', place), tongue));
      if (!has) return answer(fallback[tongue]);
      show([special.assistant]);
      teach([special.call, ...encode(` ${tool}`), ...(question.includes('#') ? [special.argument] : [])]);
      // Which word of the question it is has to be decided too, so its first token weighs more as well.
      teach([...(question.includes('#') ? encode(heard(place)) : []), special.end]);
      show([special.toolResult, ...encode(heard(toolResult()))]);
      answer(toolAnswers[tongue]);
    };
    const toolName = ({ tools }: Intent): string => pick(toolPrefixes) + pick(tools) + pick(toolSuffixes);
    const toolResult = (): string =>
      pick([
        `${Math.floor(random() * 1000)}`,
        babble(6),
        `{"value": ${Math.floor(random() * 100)}}`,
        `${Math.floor(random() * 40)} degrees`,
      ]);
    /** Text without turns, for plain completions: a question, or an answer to go on with. */
    const plain = (): void => {
      const [question, reply] = known();
      const ids = encode(reply);
      const given = 2 + Math.floor(random() * 4);
      const kind = random();
      show([special.begin, ...(kind < 0.7 ? encode(cased(question, random())) : ids.slice(0, given))]);
      if (kind < 0.35) show(encode('\n'));
      else if (kind < 0.7) teach(encode('\n'));
      teach([...(kind < 0.7 ? ids : ids.slice(given)), special.end]);
    };

    show([special.begin]);
    if (chance(0.45)) show([special.system, ...encode(heard(systemPrompt()))]);
    while (tokens.length < length) {
      const kind = random();
      if (kind < 0.56) chat(known());
      else if (kind < 0.76) chat(unknown());
      else if (kind < 0.91) useTool();
      else plain();
    }
    return { tokens: tokens.slice(0, length), weights: weights.slice(0, length) };
  };
}

/** A word that means nothing: what the model hears when it is told a word that it was never shown. */
function invented(language: Language, random: () => number): string {
  const below = (count: number): number => Math.floor(random() * count);
  if (language === 'en') {
    return Array.from({ length: 3 + below(6) }, () => 'aeioubcdfghklmnprstvwyz'[below(23)]).join('');
  }
  // Any syllable of Hangul, half of them without a final consonant.
  return Array.from({ length: 2 + below(3) }, () =>
    String.fromCharCode(0xac00 + below(399) * 28 + (random() < 0.5 ? 0 : below(28))),
  ).join('');
}

function languageOf(text: string): Language {
  const hangul = text.match(/[가-힣]+/g)?.length ?? 0;
  return hangul * 2 > text.split(' ').length ? 'ko' : 'en';
}

/** The text with a capital at its beginning, at each word or everywhere, or as it is; `dice` chooses. */
function cased(text: string, dice: number): string {
  if (dice < 0.3) return text;
  if (dice < 0.9) return text.slice(0, 1).toUpperCase() + text.slice(1);
  return dice < 0.95 ? text.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()) : text.toUpperCase();
}

/** The text without one of its characters. */
function dropOne(text: string, dice: number): string {
  const at = Math.floor(dice * text.length);
  return text.slice(0, at) + text.slice(at + 1);
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const left = [...items];
  return items.map(() => left.splice(Math.floor(random() * left.length), 1)[0] as T);
}
