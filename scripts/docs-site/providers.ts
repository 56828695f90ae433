import { providerVariants, type Variant } from '../../src/config/variants.ts';
import {
  anthropicMessages,
  bedrockMessages,
  googleMessages,
  type TextRule,
} from '../../src/dialects/conversation/rules.ts';
import {
  type Efforts,
  type FamilyRules,
  type ParameterRules,
  type ProviderRules,
  rulesOf,
  type ThinkingRules,
} from '../../src/dialects/openai/providers.ts';
import type { ReasoningRules } from '../../src/dialects/openai/reasoning.ts';
import { withTables } from './tables.ts';

/** docs/providers.md with the tables of the rules. */
export function providersPage(page: string): string {
  return withTables(
    page,
    new Map([
      ['providers', providersTable()],
      ['families', familiesTable()],
      ['messages', messagesTable()],
    ]),
  );
}

function providersTable(): string {
  const variants: readonly Variant[] = [
    ...providerVariants.filter((name) => name !== 'generic'),
    'engine',
    'generic',
  ];
  return tableOf(
    [
      'API',
      '`variant`',
      'Identified by',
      'Accepts',
      'What Naru changes',
      'Reasoning',
      'Reasoning of earlier turns',
    ],
    variants.map((variant) => {
      const rules = rulesOf(variant);
      return [
        rules.documentation === '' ? rules.name : `[${rules.name}](${rules.documentation})`,
        variant === 'engine' ? '' : `\`${variant}\``,
        rules.hosts.map((host) => `\`${host}\``).join(' '),
        rules.accepts === null ? 'everything' : names(rules.accepts),
        changesOf(rules),
        thinkingText(rules.thinking),
        thoughtsText(rules.reasoning),
      ];
    }),
  );
}

function familiesTable(): string {
  const rows = providerVariants.flatMap((variant) =>
    rulesOf(variant).families.map((family) => [rulesOf(variant).name, family] as const),
  );
  return tableOf(
    ['API', 'Models', 'Also accepts', 'What Naru changes', 'Reasoning', 'Reasoning of earlier turns'],
    rows.map(([name, family]) => [
      name,
      family.name,
      names(family.alsoAccepts ?? []),
      changesOf(family),
      family.thinking === undefined ? '' : thinkingText(family.thinking),
      family.reasoning === undefined ? '' : thoughtsText(family.reasoning),
    ]),
  );
}

function messagesTable(): string {
  const others = [
    ['Anthropic', anthropicMessages],
    ['Amazon Bedrock', bedrockMessages],
    ['Google', googleMessages],
  ] as const;
  const variants = providerVariants.map((variant) => {
    const { name, messages } = rulesOf(variant);
    return [name, messages] as const;
  });
  return tableOf(
    ['API', 'Ids of calls', 'Names of tools', 'Members and parts', 'Order and texts', 'Tools and stops'],
    [...others, ...variants].map(([name, rules]) => [
      name,
      rules.ids === null ? 'any' : textRule(rules.ids),
      rules.names === null ? 'any' : textRule(rules.names),
      [
        ...(rules.developer ? [] : ['`developer` becomes `system`']),
        ...(rules.members === null ? [] : ['unknown members are left out']),
        ...(rules.parts === null ? [] : Object.entries(rules.parts).map(partsText)),
      ].join('; '),
      [
        ...(rules.firstIsUser ? ['the user speaks first'] : []),
        ...(rules.noBlankText ? ['blank texts are left out'] : []),
        ...(rules.answersTools ? ['an answer between a result and the user'] : []),
        ...(rules.marksPrefix ? ['`prefix` on an answer at the end'] : []),
      ].join('; '),
      [
        ...(rules.declaresCalled ? ['called tools are declared'] : []),
        ...(rules.strictTools ? [] : ['without `strict`']),
        ...(rules.choosesNone ? [] : ['`tool_choice: none` becomes an instruction']),
        ...(rules.jsonObject === 'instruction' ? ['`json_object` becomes an instruction'] : []),
        ...(rules.jsonObject === 'word' ? ['the word "json" beside `json_object`'] : []),
        ...(rules.jsonSchema ? [] : ['`json_schema` becomes `json_object` and an instruction']),
        ...(rules.noBlankStop ? ['no blank stop'] : []),
        ...(rules.maxStops === null ? [] : [`at most ${rules.maxStops} stops`]),
      ].join('; '),
    ]),
  );
}

function textRule({ pattern, maxLength, exactLength }: TextRule): string {
  const length = exactLength === undefined ? `at most ${maxLength}` : `exactly ${exactLength}`;
  return `\`${pattern.source}\`, ${length}`.replace('`^`, ', 'any, ');
}

function partsText([role, types]: readonly [string, readonly string[] | 'string']): string {
  return `${role}: ${types === 'string' ? 'plain text' : names(types)}`;
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line), ''].join('\n');
}

function changesOf(rules: Partial<ParameterRules> & (Partial<ProviderRules> | FamilyRules)): string {
  const { limit, renames = {}, refuses = [], only = {}, converts = {} } = rules;
  const { streamOptions = true } = rules as Partial<ProviderRules>;
  const never = Object.entries(only).filter(([, values]) => values.length === 0);
  const some = Object.entries(only).filter(([, values]) => values.length > 0);
  const dropped = [...refuses, ...never.map(([name]) => name)];
  const other = limit === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  return [
    ...(limit == null ? [] : [`\`${other}\` → \`${limit}\``]),
    ...Object.entries(renames).map(([from, to]) => `\`${from}\` → \`${to}\``),
    ...Object.entries(converts).map(([name, conversion]) => `\`${name}\`: ${conversions[conversion]}`),
    ...some.map(([name, values]) => `\`${name}\` only as ${values.map((one) => `\`${one}\``).join(' ')}`),
    ...(dropped.length === 0 ? [] : [`without ${names(dropped)}`]),
    ...(rules.freeWithoutThinking === true ? ['sampling as received with the effort `none`'] : []),
    ...(rules.thinksBesideForcedTool === false ? ['no thinking when a tool is forced'] : []),
    ...(streamOptions ? [] : ['without `stream_options`']),
  ].join('; ');
}

const conversions = {
  json_schema: '`json_object` is omitted',
  word: 'a named tool becomes `required`',
  count: '`true` becomes the number of `top_logprobs`',
  list: 'a string becomes a list of one',
} as const;

function thinkingText(rules: ThinkingRules): string {
  switch (rules.as) {
    case 'given':
      return 'as received';
    case 'none':
      return 'not supported';
    case 'effort':
      return `\`reasoning_effort\` ${wordsOf(rules.efforts)}`;
    case 'thinking':
      return `\`thinking.type\`${withEfforts(rules.efforts)}`;
    case 'reasoning':
      return `\`reasoning.enabled\`${withEfforts(rules.efforts)}`;
    case 'template':
      return `\`chat_template_kwargs.enable_thinking\` and \`.thinking\`${withEfforts(rules.efforts)}`;
  }
}

function withEfforts(efforts: Efforts): string {
  const message = wordsOf(efforts);
  return message === '' ? '' : `, \`reasoning_effort\` ${message}`;
}

function wordsOf(efforts: Efforts): string {
  return [...new Set(Object.values(efforts))].map((word) => `\`${word}\``).join(' ');
}

function thoughtsText({ fields, details, asPart, placeholder }: ReasoningRules): string {
  const files = [
    ...fields.map((field) => `\`${field}\``),
    ...(asPart === true ? ['a `thinking` part of `content`'] : []),
    ...(details === 'none'
      ? []
      : [details === 'all' ? '`reasoning_details`' : '`reasoning_details` with more than text']),
  ];
  const all = files.length === 0 ? 'not sent' : files.join(', ');
  return placeholder === undefined ? all : `${all}; a space where a call of tools lacks them`;
}

function names(all: readonly string[]): string {
  return all.map((name) => `\`${name}\``).join(' ');
}
