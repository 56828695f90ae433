import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { flag, type SearchSchema, text, useSearchParams } from '../../app/search-params.ts';
import { SignInFrame } from '../../sign-in/frame.tsx';
import { tokenOf } from '../../sign-in/link-token.ts';
import { OperatorLink } from '../../sign-in/operator-link.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Field, Input } from '../../ui/field.tsx';

const schema: SearchSchema<{ next: string; window: boolean }> = { next: text(), window: flag() };

/** The way into the console: a one-time link, which a command prints. */
function SignInPage() {
  const { t } = useTranslation('sign-in');
  const [{ next, window: isBeside }] = useSearchParams(schema);
  const [link, setLink] = useState('');
  const [token, setToken] = useState('');
  if (token !== '') return <OperatorLink token={token} next={next} isBeside={isBeside} />;
  return (
    <SignInFrame title={t('title')}>
      <p>{t('consoleText')}</p>
      <CodeBlock label={t('command')} code="npm run naru -- console" />
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setToken(tokenOf(link));
        }}
      >
        <Field label={t('link')} hint={t('linkHint')}>
          <Input
            required
            spellCheck={false}
            value={link}
            onChange={({ target }) => setLink(target.value)}
            className="font-mono"
          />
        </Field>
        <Button type="submit" variant="primary">
          {t('signIn')}
        </Button>
      </form>
    </SignInFrame>
  );
}

export { SignInPage as Page };
