import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Field, Textarea } from '../../ui/field.tsx';
import type { Message, ToolCall } from './conversation.ts';

export interface ToolCallsProps {
  readonly message: Message;
  readonly number: number;
  /** Present when the calls are the end of the conversation: sends what the tools returned. */
  readonly onResults?: (results: readonly { readonly callId: string; readonly text: string }[]) => void;
}

/** The tools that the model wants to call, and a place for what they return. */
export function ToolCalls({ message, number, onResults }: ToolCallsProps) {
  const { t } = useTranslation('playground');
  const [results, setResults] = useState<readonly string[]>([]);
  const { toolCalls } = message;
  if (toolCalls.length === 0) return null;
  return (
    <div className="flex flex-col gap-3">
      {toolCalls.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: calls are only added at the end.
        <div key={index} className="flex flex-col gap-2">
          <p className="text-sm">
            <span className="text-muted">{t('toolCall')}</span>{' '}
            <code className="font-mono font-medium">{call.name}</code>
          </p>
          <CodeBlock
            label={t('argumentsOf', { name: call.name, number, index: index + 1 })}
            code={prettyArgs(call)}
          />
          {onResults === undefined ? null : (
            <Field label={t('resultOf', { name: call.name })}>
              <Textarea
                rows={2}
                value={results[index] ?? ''}
                onChange={({ target }) =>
                  setResults(toolCalls.map((_, at) => (at === index ? target.value : (results[at] ?? ''))))
                }
              />
            </Field>
          )}
        </div>
      ))}
      {onResults === undefined ? null : (
        <div>
          <Button
            onClick={() =>
              onResults(toolCalls.map(({ id }, index) => ({ callId: id, text: results[index] ?? '' })))
            }
          >
            {t('sendResults')}
          </Button>
        </div>
      )}
    </div>
  );
}

/** The arguments with line breaks, once they are complete JSON. */
function prettyArgs({ args }: ToolCall): string {
  try {
    return JSON.stringify(JSON.parse(args), null, 2);
  } catch {
    return args;
  }
}
