import { isObject, type JsonObject } from '../wire/json-object.ts';

/**
 * A body with `tools` instead of the `functions` that preceded them: the parameters `functions` and
 * `function_call`, the messages of the role `function`, and the calls of assistant messages. The
 * body itself when it has none of them.
 */
export function withTools(body: JsonObject): JsonObject {
  const { functions, function_call: choice, messages, ...rest } = body;
  const isOld = Array.isArray(messages) && messages.some(isOldMessage);
  if (functions == null && choice == null && !isOld) return body;
  const tools = Array.isArray(functions)
    ? functions.map((declared: unknown) => ({ type: 'function', function: declared }))
    : [];
  return {
    ...rest,
    ...(messages === undefined ? {} : { messages: isOld ? messagesWithTools(messages) : messages }),
    ...(tools.length === 0 || rest['tools'] != null ? {} : { tools }),
    ...(choice == null || rest['tool_choice'] != null ? {} : { tool_choice: toolChoice(choice) }),
  };
}

/** Whether a client calls functions in the old form, and reads calls in that form. */
export function readsFunctionCalls(body: JsonObject): boolean {
  return Array.isArray(body['functions']) && body['tools'] == null;
}

function isOldMessage(message: unknown): boolean {
  return isObject(message) && (message['role'] === 'function' || isObject(message['function_call']));
}

function toolChoice(choice: unknown): unknown {
  return isObject(choice) ? { type: 'function', function: choice } : choice;
}

/** Each call gets an id, which the next result of its function repeats. */
function messagesWithTools(messages: readonly unknown[]): readonly unknown[] {
  const open = new Map<unknown, string[]>();
  return messages.map((message, position) => {
    if (!isObject(message)) return message;
    if (message['role'] === 'function') {
      const id = open.get(message['name'])?.shift() ?? `call_${position}`;
      return { ...message, role: 'tool', tool_call_id: id };
    }
    const { function_call: call, ...rest } = message;
    if (!isObject(call) || Array.isArray(rest['tool_calls'])) return message;
    const id = `call_${position}`;
    open.set(call['name'], [...(open.get(call['name']) ?? []), id]);
    return { ...rest, tool_calls: [{ id, type: 'function', function: call }] };
  });
}
