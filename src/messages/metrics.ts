import { addCounter, addGauge, type Registry } from '../metrics/registry.ts';
import type { Clock } from '../time/clock.ts';
import { messageChannels } from './choices-sql.ts';
import { attemptOutcomes, type Messages } from './messages.ts';

/** Registers the metrics of messages (spec:operator/3.3). */
export function addMessageMetrics(
  registry: Registry,
  messages: Pick<Messages, 'attempts' | 'waiting'>,
  clock: Clock,
): void {
  addCounter(
    registry,
    {
      name: 'naru_message_attempts_total',
      help: 'Attempts to send a message, by outcome; a failed one is repeated, one that is given up is not.',
      labelNames: ['channel', 'outcome'],
    },
    () =>
      messageChannels.flatMap((channel) =>
        attemptOutcomes.map((outcome) => ({
          labels: { channel, outcome },
          value: messages.attempts[channel][outcome],
        })),
      ),
  );
  addGauge(
    registry,
    {
      name: 'naru_messages_waiting',
      help: 'Messages that are neither sent nor given up, on all servers.',
      labelNames: ['channel'],
    },
    () =>
      messageChannels.map((channel) => ({
        labels: { channel },
        value: messages.waiting?.[channel] ?? 0,
      })),
  );
  addGauge(
    registry,
    {
      name: 'naru_messages_overdue_seconds',
      help: 'How long the oldest message or event that is due has waited for an attempt; 0: none is due.',
    },
    () => [{ value: Math.max(0, clock.now() - (messages.waiting?.dueAtMs ?? clock.now())) / 1000 }],
  );
}
