import { useTranslation } from 'react-i18next';

export interface FailedBecauseProps {
  readonly attempt: {
    readonly status: number | null;
    readonly failure: string | null;
    readonly message: string | null;
  };
}

/** Types whose reason is only in the API's own message, which is in both languages. */
const explained: ReadonlySet<string> = new Set(['invalid_request', 'model_not_found']);

/** Says why a request failed in the language of the page; empty when nothing is known. */
export function useWhyFailed(): (type: string, message: string) => string {
  const { t } = useTranslation('request');
  return (type, message) => {
    const own = t(`error.${type}`, { defaultValue: '' });
    if (own === '') return message;
    return explained.has(type) && message !== '' ? `${own} “${message}”` : own;
  };
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
