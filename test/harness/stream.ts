/** One event of a stream as a client sees it. */
export interface StreamEvent {
  /** The data as sent; `[DONE]` for the terminator. */
  readonly data: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into chunks as a client would.
  readonly json: any;
}

/**
 * The events of a stream's whole text. Fails on anything that is neither a data event nor a
 * comment.
 */
export function eventsOf(text: string): readonly StreamEvent[] {
  if (text !== '' && !text.endsWith('\n\n'))
    throw new Error(`the stream ends inside an event: ${JSON.stringify(text.slice(-80))}`);
  return text
    .split('\n\n')
    .filter((event) => event !== '' && !event.startsWith(':'))
    .map((event) => {
      if (!event.startsWith('data: ')) throw new Error(`not an event: ${JSON.stringify(event)}`);
      const data = event.slice('data: '.length);
      return { data, json: data === '[DONE]' ? null : JSON.parse(data) };
    });
}

/** The text that a stream's deltas add up to. */
export function textOf(events: readonly StreamEvent[]): string {
  return events
    .map((event) => event.json?.choices[0]?.delta?.content ?? event.json?.choices[0]?.text ?? '')
    .join('');
}
