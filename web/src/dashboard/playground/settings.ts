/** How a parameter of the API is entered and sent. */
export interface Parameter {
  /** Its name in the API. */
  readonly name: string;
  readonly kind: 'number' | 'integer' | 'lines' | 'choice';
  readonly min?: number;
  readonly max?: number;
  readonly options?: readonly string[];
  /** Folded away until it is wanted. */
  readonly isRare?: boolean;
}

/** The parameters that the playground offers, those first that people change most. */
export const parameters: readonly Parameter[] = [
  { name: 'temperature', kind: 'number', min: 0, max: 2 },
  { name: 'max_tokens', kind: 'integer', min: 1 },
  { name: 'top_p', kind: 'number', min: 0, max: 1 },
  { name: 'reasoning', kind: 'choice', options: ['none', 'low', 'medium', 'high'] },
  { name: 'response_format', kind: 'choice', options: ['json_object'] },
  { name: 'stop', kind: 'lines', isRare: true },
  { name: 'seed', kind: 'integer', isRare: true },
  { name: 'top_k', kind: 'integer', min: 0, isRare: true },
  { name: 'min_p', kind: 'number', min: 0, max: 1, isRare: true },
  { name: 'frequency_penalty', kind: 'number', min: -2, max: 2, isRare: true },
  { name: 'presence_penalty', kind: 'number', min: -2, max: 2, isRare: true },
  { name: 'repetition_penalty', kind: 'number', min: 0, max: 2, isRare: true },
];

/** What was typed, by parameter; a parameter that is absent or empty is not sent. */
export interface Settings {
  readonly values: Readonly<Record<string, string>>;
  /** JSON text: the tools that the model may call. */
  readonly tools: string;
}

export const noSettings: Settings = { values: {}, tools: '' };

/** A tool for people who have not written one before. */
export const exampleTools = JSON.stringify(
  [
    {
      type: 'function',
      function: {
        name: 'get_weather',
        description: 'Current weather of a city',
        parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    },
  ],
  null,
  2,
);

/** Why a value cannot be sent: a key of the texts, with the limits. */
export type Fault = 'number' | 'integer' | 'range' | null;

/** Whether what was typed is a value of the parameter. */
export function faultOf({ kind, min, max }: Parameter, typed: string): Fault {
  const value = typed.trim();
  if (value === '' || kind === 'lines' || kind === 'choice') return null;
  const number = Number(value);
  if (!Number.isFinite(number)) return 'number';
  if (kind === 'integer' && !Number.isSafeInteger(number)) return 'integer';
  return (min !== undefined && number < min) || (max !== undefined && number > max) ? 'range' : null;
}

/** The tools of a JSON text; an empty text is none, null when it is no list of functions. */
export function toolsOf(text: string): readonly object[] | null {
  if (text.trim() === '') return [];
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) && parsed.every(isTool) ? parsed : null;
  } catch {
    return null;
  }
}

function isTool(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('function' in value)) return false;
  const { function: declared } = value;
  return (
    typeof declared === 'object' &&
    declared !== null &&
    'name' in declared &&
    typeof declared.name === 'string'
  );
}

/** What a model takes, in the words of the list of models. */
export interface Abilities {
  readonly supported_parameters: readonly string[];
  readonly supports_tools: boolean;
  readonly max_completion_tokens: number;
}

/** The parameters that a model takes. */
export function offeredBy(model: Abilities): readonly Parameter[] {
  return parameters
    .filter(({ name }) => model.supported_parameters.includes(name))
    .map((one) => (one.name === 'max_tokens' ? { ...one, max: model.max_completion_tokens } : one));
}

/** The members of the request that the settings stand for; null when one of them is invalid. */
export function requestMembers(model: Abilities, { values, tools }: Settings): object | null {
  const offered = offeredBy(model);
  if (offered.some((parameter) => faultOf(parameter, values[parameter.name] ?? '') !== null)) return null;
  const wanted = model.supports_tools ? toolsOf(tools) : [];
  if (wanted === null) return null;
  const stated = offered.flatMap((parameter) => {
    const typed = (values[parameter.name] ?? '').trim();
    return typed === '' ? [] : [[parameter.name, sentValue(parameter, typed)] as const];
  });
  return { ...Object.fromEntries(stated), ...(wanted.length === 0 ? {} : { tools: wanted }) };
}

function sentValue({ name, kind }: Parameter, typed: string): unknown {
  if (name === 'reasoning') return { effort: typed };
  if (name === 'response_format') return { type: typed };
  return kind === 'lines' ? typed.split('\n').filter((line) => line !== '') : Number(typed);
}
