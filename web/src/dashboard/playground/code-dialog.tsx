import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Segmented } from '../../ui/tabs.tsx';
import { type CodeLanguage, codeLanguages, codeOf, shortened } from './code.ts';

const names: Readonly<Record<CodeLanguage, string>> = {
  curl: 'curl',
  typescript: 'TypeScript',
  python: 'Python',
};

/** The present request as a program. */
export function CodeDialog({
  body,
  onClose,
}: {
  body: Readonly<Record<string, unknown>>;
  onClose: () => void;
}) {
  const { t } = useTranslation('playground');
  const [language, setLanguage] = useState<CodeLanguage>('curl');
  return (
    <Dialog
      isOpen
      size="lg"
      onOpenChange={(isOpen) => (isOpen ? undefined : onClose())}
      title={t('code')}
      description={t('codeNote')}
    >
      <div className="flex flex-col gap-3">
        <div>
          <Segmented
            label={t('codeLanguage')}
            value={language}
            onChange={setLanguage}
            options={codeLanguages.map((value) => ({ value, label: names[value] }))}
          />
        </div>
        <CodeBlock label={names[language]} code={codeOf(language, shortened(body), window.location.origin)} />
      </div>
    </Dialog>
  );
}
