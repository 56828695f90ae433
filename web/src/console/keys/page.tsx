import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { hashInBrowser, plaintextForm } from '../../app/hash-in-browser.ts';
import { useNavigate } from '../../app/link.tsx';
import { Page as Frame } from '../../app/page.tsx';
import { type SearchSchema, text, useSearchParams } from '../../app/search-params.ts';
import { Button } from '../../ui/button.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { showToast } from '../../ui/toast.tsx';
import { KeyList } from '../key-list/key-list.tsx';

const schema: SearchSchema<{ search: string }> = { search: text() };

/** A3: find a key by its hash, a part of its label or name, or the pasted key itself. */
export function Page() {
  const { t } = useTranslation('console-keys');
  const navigate = useNavigate();
  const [{ search }, change] = useSearchParams(schema);
  const [typed, setTyped] = useState(search);
  const find = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const wanted = typed.trim();
    if (plaintextForm.test(wanted)) {
      setTyped('');
      const hash = await hashInBrowser(wanted);
      if (hash === null) showToast({ tone: 'bad', text: t('findInsecure') });
      else await navigate({ to: `/keys/${hash}` });
    } else if (/^[0-9a-f]{64}$/.test(wanted)) await navigate({ to: `/keys/${wanted}` });
    else change({ search: wanted });
  };
  return (
    <Frame title={t('title')}>
      <form onSubmit={(event) => void find(event)} className="flex max-w-160 items-start gap-2">
        <Field label={t('find')} hint={t('findHint')} className="flex-1">
          <Input
            type="search"
            value={typed}
            spellCheck={false}
            onChange={({ target }) => setTyped(target.value)}
          />
        </Field>
        <Button type="submit" icon="search" className="mt-6">
          {t('findButton')}
        </Button>
      </form>
      <KeyList
        query={search === '' ? {} : { search }}
        empty={
          <EmptyState icon="key" title={t(search === '' ? 'empty.none' : 'empty.found')}>
            {t(search === '' ? 'empty.text' : 'empty.foundText')}
          </EmptyState>
        }
      />
    </Frame>
  );
}
