import { useTranslation } from 'react-i18next';
import { CodeBlock } from '../../ui/code-block.tsx';

interface Part {
  readonly isCode: boolean;
  readonly text: string;
  /** The word after the fence. */
  readonly language: string;
}

/** Text and fenced code, in order. A fence that is not closed yet goes to the end. */
export function partsOf(text: string): readonly Part[] {
  const parts: Part[] = [];
  let rest = text;
  for (;;) {
    const open = /(?:^|\n)[ \t]*```([\w+#.-]*)[^\n]*(?:\n|$)/.exec(rest);
    const before = (open === null ? rest : rest.slice(0, open.index)).replace(/^\n+|\s+$/g, '');
    if (before !== '') parts.push({ isCode: false, text: before, language: '' });
    if (open === null) return parts;
    const code = rest.slice(open.index + open[0].length);
    const close = /(?:^|\n)[ \t]*```[ \t]*(?=\n|$)/.exec(code);
    const [, language = ''] = open;
    parts.push({ isCode: true, text: close === null ? code : code.slice(0, close.index), language });
    if (close === null) return parts;
    rest = code.slice(close.index + close[0].length);
  }
}

/** What a model wrote: text as it is and fenced code in blocks. Nothing in it becomes markup. */
export function AnswerText({ text, number }: { text: string; number: number }) {
  const { t } = useTranslation('playground');
  return (
    <div className="flex flex-col gap-3">
      {partsOf(text).map((part, index) =>
        part.isCode ? (
          <CodeBlock
            // biome-ignore lint/suspicious/noArrayIndexKey: parts are only added at the end.
            key={index}
            label={t('codeOf', { language: part.language, number, index: index + 1 })}
            code={part.text}
          />
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts are only added at the end.
          <p key={index} className="whitespace-pre-wrap">
            {part.text}
          </p>
        ),
      )}
    </div>
  );
}
