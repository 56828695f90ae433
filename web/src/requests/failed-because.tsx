import { useTranslation } from 'react-i18next';
import type { Language } from '../format/money.ts';
import { useLanguage } from '../i18n/use-format.ts';

export interface FailedBecauseProps {
  readonly attempt: {
    readonly status: number | null;
    readonly failure: string | null;
    readonly message: string | null;
  };
}

/** Types whose reason is only in the API's own message. */
const explained: ReadonlySet<string> = new Set(['invalid_request', 'model_not_found']);

/** Says why a request failed in the language of the page; empty when nothing is known. */
export function useWhyFailed(): (type: string, message: string) => string {
  const { t } = useTranslation('request');
  const language = useLanguage();
  return (type, message) => {
    const own = t(`error.${type}`, { defaultValue: '' });
    const said = partIn(language, message);
    if (own === '') return said;
    return explained.has(type) && said !== '' ? `${own} “${said}”` : own;
  };
}

const forms = /^(.*\p{Script=Hangul}\P{Script=Hangul}*?[.)]) (\P{Script=Hangul}+)$/su;

/** A message of the API is Korean, then English; the whole where the English part has Hangul too. */
function partIn(language: Language, message: string): string {
  const [, ko = message, en = message] = forms.exec(message) ?? [];
  return language === 'ko' ? ko : en;
}

/** Why an attempt failed, in the language of the page, and what the upstream said, in its own. */
export function FailedBecause({ attempt: { status, failure, message } }: FailedBecauseProps) {
  const { t } = useTranslation('request');
  const kind = failure ?? 'broke';
  return (
    <>
      {status === null || failure === null ? '' : `${status} · `}
      {t(`reason.${kind}`, { defaultValue: kind })}
      {message === null ? null : <span className="block break-words text-muted">“{message}”</span>}
    </>
  );
}
