import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { flag, type SearchSchema, text, useSearchParams } from '../../app/search-params.ts';
import { ExternalWays } from '../../sign-in/external-ways.tsx';
import { SignInFrame } from '../../sign-in/frame.tsx';
import { tokenOf } from '../../sign-in/link-token.ts';
import { OperatorLink } from '../../sign-in/operator-link.tsx';
import { useSignedIn } from '../../sign-in/use-signed-in.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { Banner } from '../../ui/states.tsx';

const schema: SearchSchema<{ next: string; window: boolean; refused: string }> = {
  next: text(),
  window: flag(),
  /** Why the OpenID provider's sign-in failed. */
  refused: text(),
};

/** The ways into the console: at its public address those of the company, and a one-time link. */
function SignInPage() {
  const { t } = useTranslation('sign-in');
  const [{ next, window: isBeside, refused }] = useSearchParams(schema);
  const ways = useQuery(readQuery('GET /console/api/sign-in', {})).data;
  const [token, setToken] = useState('');
  const [isDone, setIsDone] = useState(false);
  const signedIn = useSignedIn();
  if (token !== '') return <OperatorLink token={token} next={next} isBeside={isBeside} />;
  if (isDone)
    return (
      <SignInFrame title={t('done')}>
        <p>{t('doneText')}</p>
      </SignInFrame>
    );
  return (
    <SignInFrame title={t('title')}>
      {refused === '' ? null : <Banner tone="bad">{t([`refused.${refused}`, 'refused.failed'])}</Banner>}
      <ExternalWays
        ways={ways}
        onOutcome={(outcome) => {
          if (outcome === null) return;
          if (isBeside) setIsDone(true);
          else void signedIn(next);
        }}
      />
      <p>{t('consoleText')}</p>
      <CodeBlock label={t('command')} code="npm run naru -- console" />
      <LinkForm onToken={setToken} />
    </SignInFrame>
  );
}

function LinkForm({ onToken }: { onToken: (token: string) => void }) {
  const { t } = useTranslation('sign-in');
  const [link, setLink] = useState('');
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        onToken(tokenOf(link));
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
  );
}

export { SignInPage as Page };
