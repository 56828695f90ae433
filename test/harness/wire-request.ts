import assert from 'node:assert/strict';
import { eventsOf, textOf } from './stream.ts';
import { type WireWorld, wireModel } from './wire-world.ts';

/** A tool that tests offer. */
export const weather = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The temperature of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

interface Call {
  readonly index: number;
  readonly id: string;
  readonly function: { name: string; arguments: string };
}

/** A client's view of a response, the same for JSON and streams. */
export interface ParsedResponse {
  readonly text: string;
  readonly reasoning: string;
  /** As received: in pieces when streamed. */
  readonly details: readonly Readonly<Record<string, unknown>>[];
  readonly calls: readonly Call[];
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into usage as a client would.
  readonly usage: any;
  readonly choice: { readonly finish_reason: string; readonly native_finish_reason: string };
}

/** Sends a request to the world's model. Fails unless the response is complete. */
export async function requestWire(
  world: WireWorld,
  key: string,
  body: { readonly stream: boolean; readonly [member: string]: unknown },
): Promise<ParsedResponse> {
  const sent = { model: wireModel, ...body };
  const response = await world.naru.send('POST', '/chat/completions', { key, body: sent });
  assert.equal(response.status, 200, response.text);
  return body.stream ? understoodStream(response.text) : understoodWhole(response.json);
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function understoodWhole(json: any): ParsedResponse {
  const [choice] = json.choices;
  const { content, reasoning, reasoning_details: details = [], tool_calls: calls = [] } = choice.message;
  return { text: content ?? '', reasoning: reasoning ?? '', details, calls, usage: json.usage, choice };
}

/** What the events of a stream add up to. */
export function understoodStream(text: string): ParsedResponse {
  const events = eventsOf(text);
  const choices = events.flatMap((event) => event.json?.choices ?? []);
  const calls: Call[] = [];
  for (const delta of choices.flatMap((choice) => choice.delta?.tool_calls ?? [])) {
    const begun = calls[delta.index];
    if (begun === undefined)
      calls[delta.index] = { ...delta, function: { arguments: '', ...delta.function } };
    else begun.function.arguments += delta.function.arguments ?? '';
  }
  return {
    text: textOf(events),
    reasoning: choices.map((choice) => choice.delta?.reasoning ?? '').join(''),
    details: choices.flatMap((choice) => choice.delta?.reasoning_details ?? []),
    calls,
    usage: events.findLast((event) => event.json?.usage)?.json.usage,
    choice: choices.find((choice) => choice.finish_reason !== null),
  };
}
