import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { useFormat } from '../../i18n/use-format.ts';
import { FailedBecause, useWhyFailed } from '../../requests/failed-because.tsx';
import { Badge, Status } from '../../ui/badge.tsx';
import { Spinner } from '../../ui/button.tsx';
import { Money } from '../../ui/figures.tsx';
import { Banner, useNow } from '../../ui/states.tsx';
import type { FailedAttempt, Failure, Message, Run } from './conversation.ts';
import { estimateCost, type Model, priceOf } from './model.ts';

/** What one answer took: a marked estimate while it grows, then what the server billed. */
export function RunLine({ message, model }: { message: Message; model: Model | undefined }) {
  const { run } = message;
  if (run === null) return null;
  return (
    <div className="flex flex-col gap-2">
      {run.failure === null ? null : <FailureBanner failure={run.failure} attempts={run.failedAttempts} />}
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-muted empty:hidden">
        <Progress run={run} model={model} />
        {run.provider === null ? null : <span>{run.provider}</span>}
        {run.generationId === null || run.state === 'waiting' || run.state === 'streaming' ? null : (
          <RecordLink id={run.generationId} />
        )}
      </p>
    </div>
  );
}

function RecordLink({ id }: { id: string }) {
  const { t } = useTranslation('playground');
  return (
    <Link to={`/requests/${id}`} className="text-accent-text hover:underline">
      {t('toRecord')}
    </Link>
  );
}

function Progress({ run, model }: { run: Run; model: Model | undefined }) {
  const { t } = useTranslation('playground');
  const format = useFormat();
  if (run.state === 'waiting') return <Waiting run={run} model={model} />;
  if (run.state === 'streaming') {
    const tokens = Math.ceil(run.answerEstimate);
    const cost = estimateCost(priceOf(model, run.provider), {
      prompt: run.promptEstimate,
      completion: tokens,
    });
    return (
      <>
        <Spinner />
        <Badge tone="warn">{t('estimate')}</Badge>
        <span>{t('estimatedTokens', { tokens: format.count(tokens) })}</span>
        {cost === null ? null : <span>{format.money(cost, { maxDecimals: 2 })}</span>}
      </>
    );
  }
  return (
    <>
      <Ending run={run} />
      {run.state === 'settling' && run.bill === null ? (
        <span className="inline-flex items-center gap-1">
          <Spinner /> {t('settling')}
        </span>
      ) : (
        <BillParts run={run} />
      )}
    </>
  );
}

function Waiting({ run, model }: { run: Run; model: Model | undefined }) {
  const { t } = useTranslation('playground');
  const format = useFormat();
  const nowMs = useNow();
  const slot = model?.candidates.find(({ slot: own }) => own !== null)?.slot;
  const isCold = slot !== undefined && slot !== null && slot.state !== 'READY';
  return (
    <>
      <Spinner />
      <span>{t('waiting', { time: format.duration(Math.max(0, nowMs - run.startedMs)) })}</span>
      {isCold ? <span>{t('cold')}</span> : null}
    </>
  );
}

function Ending({ run }: { run: Run }): ReactNode {
  const { t } = useTranslation('playground');
  if (run.isStopped) return <Status tone="warn">{t('stopped')}</Status>;
  if (run.failure !== null) return null;
  if (run.finishReason === 'length') return <Status tone="warn">{t('cutByLength')}</Status>;
  return run.finishReason === 'content_filter' ? <Status tone="warn">{t('filtered')}</Status> : null;
}

function BillParts({ run }: { run: Run }) {
  const { t } = useTranslation('playground');
  const format = useFormat();
  const { bill } = run;
  if (bill === null)
    return run.failure === null ? (
      <span>{t(run.generationId === null ? 'nothingArrived' : 'billUnknown')}</span>
    ) : null;
  if (run.failure !== null) return <Money micro={bill.costMicro} />;
  return (
    <>
      <span>
        {t('tokens', {
          prompt: format.count(bill.promptTokens),
          completion: format.count(bill.completionTokens),
        })}
        {bill.reasoningTokens === 0
          ? ''
          : ` (${t('ofReasoning', { tokens: format.count(bill.reasoningTokens) })})`}
      </span>
      <span className="font-medium text-text">
        <Money micro={bill.costMicro} />
      </span>
      {run.firstMs === null ? null : (
        <span>{t('firstToken', { time: format.duration(run.firstMs - run.startedMs) })}</span>
      )}
      <span>{run.model}</span>
    </>
  );
}

/** Refusals that the person can do something about, and where. */
const remedies: Readonly<Record<string, '/credits' | '/keys'>> = {
  insufficient_credits: '/credits',
  key_limit_exceeded: '/keys',
  key_suspended: '/keys',
  key_off: '/keys',
};

/** Why there is no answer, in the language of the page; what an upstream said is quoted as it is. */
function FailureBanner({ failure, attempts }: { failure: Failure; attempts: readonly FailedAttempt[] }) {
  const { t } = useTranslation('playground');
  const whyFailed = useWhyFailed();
  const { status, type, words } = failure;
  const remedy = remedies[type];
  return (
    <Banner
      tone="bad"
      action={
        remedy === undefined ? null : (
          <Link to={remedy} className="font-medium underline">
            {t(`remedy.${remedy.slice(1)}`)}
          </Link>
        )
      }
    >
      <span className="whitespace-pre-wrap">
        {type === 'key_off'
          ? t('keyOff')
          : type === 'unreachable'
            ? t('lost')
            : whyFailed(type, words) || t('unknownFailure')}
      </span>
      {status === 0 ? null : (
        <span className="ml-2 font-mono text-xs whitespace-nowrap">{`${status} ${type}`}</span>
      )}
      {attempts.length === 0 ? null : (
        <ul className="mt-1 flex flex-col gap-1">
          {attempts.map((attempt, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the attempts of a request stay.
            <li key={index}>
              {attempt.provider}: <FailedBecause attempt={attempt} />
            </li>
          ))}
        </ul>
      )}
    </Banner>
  );
}
