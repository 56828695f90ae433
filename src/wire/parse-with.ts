import { z } from 'zod';
import { type Bilingual, type Message, messages, requirements } from '../errors/messages.ts';

/**
 * The first fault of a value: the member that has it, as `limit` or `items[0].name`, and its
 * message.
 */
export interface RequestFault {
  /** Empty when the value as a whole is at fault. */
  readonly path: string;
  readonly message: Message;
}

/** A value that follows its schema, as the schema parses it; or its first fault. */
export type ParsedRequest<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: RequestFault };

type Issue = z.core.$ZodRawIssue;
type Steps = readonly PropertyKey[] | undefined;

/**
 * Parses a body or a query with the schema that also documents it. A schema states its own
 * requirements with `must` and `reading`; every other issue gets its message here.
 */
export function parseWith<S extends z.ZodType>(schema: S, value: unknown): ParsedRequest<z.output<S>> {
  const parsed = schema.safeParse(value, { error: messageOf });
  if (parsed.success) return { ok: true, value: parsed.data };
  const [first] = parsed.error.issues;
  // Every message of a schema is made by `messageOf` or `must`.
  return { ok: false, fault: { path: nameOf(first?.path), message: (first?.message ?? '') as Message } };
}

/**
 * A schema whose values are read into others: `read` returns null for a value that does not meet
 * the requirement. The API document has the schema of the values that are read.
 */
export function reading<S extends z.ZodType, T>(
  schema: S,
  read: (value: z.output<S>) => T | null,
  requirement: Bilingual,
) {
  return schema.transform((value, context): T => {
    const result = read(value);
    if (result !== null) return result;
    context.addIssue({ code: 'custom', params: { requirement } });
    return z.NEVER;
  });
}

/** The `error` of a schema: the message of a value that does not meet the requirement. */
export function must(requirement: Bilingual): (issue: Issue) => Message {
  return ({ path, input }) =>
    input === undefined ? messages.missing(nameOf(path)) : messages.invalidValue(nameOf(path), requirement);
}

/** The `error` of a schema for which an empty value is the same as none. */
export function isMissing({ path }: Issue): Message {
  return messages.missing(nameOf(path));
}

function messageOf(issue: Issue): Message {
  if (issue.code === 'unrecognized_keys')
    return messages.unknownMember(nameOf([...(issue.path ?? []), ...issue.keys.slice(0, 1)]));
  return nameOf(issue.path) === '' ? messages.bodyNotObject() : must(requirementOf(issue))(issue);
}

function requirementOf(issue: Issue): Bilingual {
  switch (issue.code) {
    case 'custom':
      return (issue.params?.['requirement'] as Bilingual | undefined) ?? requirements.documented;
    case 'invalid_value':
      return requirements.oneOf(issue.values.map(String));
    case 'invalid_type':
      return requirementOfType[issue.expected] ?? requirements.documented;
    case 'too_big':
      return issue.origin === 'string'
        ? requirements.maxLength(Number(issue.maximum))
        : issue.origin === 'array'
          ? requirements.maxItems(Number(issue.maximum))
          : requirements.documented;
    default:
      return requirements.documented;
  }
}

const requirementOfType: Readonly<Record<string, Bilingual>> = {
  string: requirements.string,
  boolean: requirements.boolean,
  array: requirements.array,
  object: requirements.object,
};

/** `items[0].name` */
function nameOf(path: Steps): string {
  return (path ?? []).reduce<string>((name, step) => {
    if (typeof step === 'number') return `${name}[${step}]`;
    return name === '' ? String(step) : `${name}.${String(step)}`;
  }, '');
}
