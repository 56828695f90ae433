import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { refusalOf } from '../api/client.ts';
import { wordsOfError } from '../api/errors.ts';
import { useLanguage } from '../i18n/use-format.ts';
import { Button } from '../ui/button.tsx';
import { saveFrom } from '../ui/table/save-file.ts';
import { showToast } from '../ui/toast.tsx';

/**
 * A button that saves a file which the server writes, of any length. Where the server refuses it, the
 * reason is a message: the browser would show or save the response as it is.
 */
export function DownloadButton({ url, children }: { url: string; children: ReactNode }) {
  const { t } = useTranslation();
  const language = useLanguage();
  const [isBusy, setIsBusy] = useState(false);
  const save = async (): Promise<void> => {
    setIsBusy(true);
    const refusal = await refusalOf(url);
    setIsBusy(false);
    if (refusal === null) saveFrom(url);
    else showToast({ tone: 'bad', text: wordsOfError(refusal, language, t) });
  };
  return (
    <Button icon="download" isBusy={isBusy} onClick={() => void save()}>
      {children}
    </Button>
  );
}
