import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Checkbox } from '../../ui/field.tsx';
import { Segmented } from '../../ui/tabs.tsx';

/** A new key with its plaintext, which no later response has. */
export type Created = Pick<ResponseOf<'POST /dashboard/api/keys'>, 'key' | 'plaintext'>;

const languages = ['env', 'curl', 'python', 'typescript'] as const;
type Example = (typeof languages)[number];

/** U5c: the plaintext once, with how to use it. It closes when the person states that it is stored. */
export function CreatedKey({ created, onClose }: { created: Created; onClose: () => void }) {
  const { t } = useTranslation('keys');
  const [isStored, setIsStored] = useState(false);
  const [example, setExample] = useState<Example>('env');
  const isInference = created.key.kind === 'inference';
  const models = useQuery(readQuery('GET /dashboard/api/models', {}));
  const model = models.data?.items[0]?.id ?? 'author/model';
  return (
    <Dialog
      isOpen
      isLocked
      onOpenChange={() => undefined}
      title={t('created.title', { name: created.key.name })}
      description={t('created.once')}
      footer={
        <Button variant="primary" disabled={!isStored} onClick={onClose}>
          {t('created.done')}
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <CodeBlock label={t('created.plaintext')} code={created.plaintext} isWrapped />
        {isInference ? (
          <>
            <Segmented
              label={t('created.examples')}
              value={example}
              onChange={setExample}
              options={languages.map((value) => ({ value, label: t(`created.example.${value}`) }))}
            />
            <CodeBlock
              label={t(`created.example.${example}`)}
              code={codeOf(example, { plaintext: created.plaintext, model, message: t('created.message') })}
            />
          </>
        ) : (
          <p className="text-sm text-muted">{t('created.management')}</p>
        )}
        <Checkbox
          label={t('created.stored')}
          checked={isStored}
          onChange={({ target }) => setIsStored(target.checked)}
        />
      </div>
    </Dialog>
  );
}

/** Programs that work as they are. */
function codeOf(
  example: Example,
  {
    plaintext,
    model,
    message,
  }: { readonly plaintext: string; readonly model: string; readonly message: string },
): string {
  const base = `${window.location.origin}/api/v1`;
  switch (example) {
    case 'env':
      return `OPENAI_BASE_URL=${base}\nOPENAI_API_KEY=${plaintext}`;
    case 'curl':
      return [
        `curl ${base}/chat/completions \\`,
        `  -H 'Authorization: Bearer ${plaintext}' \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  -d '{"model": "${model}", "messages": [{"role": "user", "content": "${message}"}]}'`,
      ].join('\n');
    case 'python':
      return [
        'from openai import OpenAI',
        '',
        `client = OpenAI(base_url="${base}", api_key="${plaintext}")`,
        'response = client.chat.completions.create(',
        `    model="${model}",`,
        `    messages=[{"role": "user", "content": "${message}"}],`,
        ')',
        'print(response.choices[0].message.content)',
      ].join('\n');
    case 'typescript':
      return [
        "import OpenAI from 'openai';",
        '',
        'const client = new OpenAI({',
        `  baseURL: '${base}',`,
        `  apiKey: '${plaintext}',`,
        '});',
        'const response = await client.chat.completions.create({',
        `  model: '${model}',`,
        `  messages: [{ role: 'user', content: '${message}' }],`,
        '});',
        'console.log(response.choices[0]?.message.content);',
      ].join('\n');
  }
}
