import type { Config } from '../config/config.ts';
import { HttpError, HttpStatusError } from '../http/client/http-error.ts';
import { describeError, type Log } from '../log/log.ts';
import type { Database } from '../store/database.ts';
import { type Clock, isoOf } from '../time/clock.ts';
import type { MessageChannel } from './choices-sql.ts';
import { wordsOf } from './kinds.ts';
import { MailError, sendMail } from './mail.ts';
import {
  type DueMessage,
  endAttempt,
  forgetMessages,
  readWaiting,
  spreadEvents,
  takeDue,
  type WaitingMessages,
} from './outbox-sql.ts';
import { sendWebhook } from './webhook.ts';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
/** How long after a failed attempt the next one begins; after the last it is given up, within a day. */
const retryAfterMs = [
  30 * secondMs,
  2 * minuteMs,
  10 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  6 * hourMs,
  12 * hourMs,
];
/** Longer than any attempt, so that no other server begins one beside it. */
const leaseMs = 5 * minuteMs;
/** Sent at once. */
const batch = 20;
const eventsPerTurn = 200;
/** The log keeps messages for a year; what lasts longer is told again. */
const keptMs = 365 * 24 * hourMs;

interface MessagesParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** What is in effect. */
  readonly config: () => Pick<Config, 'mail' | 'webhooks' | 'auth' | 'admin'>;
}

/** How an attempt ends: `failed` is repeated later, `given_up` is not. */
export const attemptOutcomes = ['sent', 'failed', 'given_up'] as const;

/** Sends messages, on any number of servers. */
export class Messages {
  /** The attempts of this process. */
  readonly attempts: Readonly<Record<MessageChannel, Record<(typeof attemptOutcomes)[number], number>>> = {
    email: { sent: 0, failed: 0, given_up: 0 },
    webhook: { sent: 0, failed: 0, given_up: 0 },
  };
  readonly #parts: MessagesParts;
  #waiting: WaitingMessages | null = null;

  constructor(parts: MessagesParts) {
    this.#parts = parts;
  }

  /** Sends what is due; called regularly. A message is sent at least once, with the same id each time. */
  async run(): Promise<void> {
    const { database, clock } = this.#parts;
    const spread = { limit: eventsPerTurn, mails: this.#parts.config().mail !== null };
    while ((await spreadEvents(database, { ...spread, atMs: clock.now() })) === eventsPerTurn);
    for (;;) {
      const due = await takeDue(database, { atMs: clock.now(), leaseMs, limit: batch });
      await Promise.all(due.map((message) => this.#attempt(message)));
      if (due.length < batch) return;
    }
  }

  /** Forgets what is older than a year. */
  forgetOld(): Promise<void> {
    return forgetMessages(this.#parts.database, this.#parts.clock.now() - keptMs);
  }

  /** What waited at the last `measure`; null before the first. */
  get waiting(): WaitingMessages | null {
    return this.#waiting;
  }

  /** Reads what waits. */
  async measure(): Promise<void> {
    this.#waiting = await readWaiting(this.#parts.database);
  }

  async #attempt(message: DueMessage): Promise<void> {
    const { database, clock, log } = this.#parts;
    try {
      await this.#send(message);
    } catch (error) {
      log.warn('message_not_sent', {
        message: message.id,
        channel: message.channel,
        attempt: message.attempts,
        detail: describeError(error),
      });
      const isHopeless = message.channel === 'webhook' && message.secret === null;
      const isLast = isHopeless || message.kind === 'test';
      const afterMs = isLast ? undefined : retryAfterMs[message.attempts - 1];
      const nextAtMs = afterMs === undefined ? null : clock.now() + afterMs;
      this.attempts[message.channel][nextAtMs === null ? 'given_up' : 'failed'] += 1;
      return endAttempt(database, message, { sentAtMs: null, nextAtMs, error: reasonOf(error) });
    }
    this.attempts[message.channel].sent += 1;
    await endAttempt(database, message, { sentAtMs: clock.now(), nextAtMs: null, error: null });
  }

  async #send(message: DueMessage): Promise<void> {
    const { clock, config } = this.#parts;
    const { mail, webhooks, auth, admin } = config();
    const data = { ...message.data, account_id: message.accountId };
    const { subject, text, page } = wordsOf(message.kind, message.language, data);
    const origin = page.startsWith('/console') ? admin.publicUrl : auth.publicUrl;
    const link = origin === null || page === '' ? null : `${origin}${page}`;
    const id = `msg_${message.causedAtMs}_${message.id}`;
    if (message.channel === 'email') {
      if (mail === null) throw new MailError('NO_MAIL_SERVER');
      const { recipient: to, language } = message;
      return sendMail(mail, { id, to, subject, text: [text, link].filter(Boolean).join('\n\n'), language });
    }
    if (message.secret === null) throw new MailError('REMOVED');
    const body = {
      type: message.kind,
      timestamp: isoOf(message.causedAtMs),
      text: [`${subject}: ${text}`, link].filter(Boolean).join(' '),
      data,
    };
    const call = { url: message.recipient, secret: message.secret, id, body };
    return sendWebhook(call, { clock, privateNetworks: webhooks.privateNetworks });
  }
}

/** What the log of messages shows: an identifier, which has no words of a server. */
function reasonOf(error: unknown): string {
  if (error instanceof MailError) return error.message;
  if (error instanceof HttpStatusError) return `HTTP ${error.status}`;
  return error instanceof HttpError ? (error.code ?? error.kind) : 'internal';
}
