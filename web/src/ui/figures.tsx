import { createContext, type ReactNode, useContext } from 'react';
import { useTranslation } from 'react-i18next';
import { type Micro, parseMicro, shareOf } from '../format/money.ts';
import type { Instant, TimeStyle } from '../format/time.ts';
import { useFormat } from '../i18n/use-format.ts';
import { classNames } from './class-names.ts';
import { useNow } from './states.tsx';
import { Tooltip } from './tooltip.tsx';

export interface MoneyProps {
  readonly micro: Micro;
  /** A change of a balance: `+` above zero. */
  readonly signed?: boolean;
  /** Rounds what is shown; the tooltip has the exact amount. */
  readonly maxDecimals?: number;
}

/** A line may break before the decimals of amounts in it; a `wbr` would break in cells without breaks too. */
export const BreakableAmounts = createContext(false);

/** An amount of won, exact unless `maxDecimals` rounds it. */
export function Money({ micro, signed = false, maxDecimals }: MoneyProps) {
  const isBreakable = useContext(BreakableAmounts);
  const format = useFormat();
  const exact = format.money(micro, { signed });
  const shown = maxDecimals === undefined ? exact : format.money(micro, { signed, maxDecimals });
  const isNegative = parseMicro(micro) < 0n;
  const [whole, fraction] = shown.split('.');
  const text = (
    <data
      value={String(micro)}
      className={classNames('whitespace-nowrap', isNegative && signed && 'text-text')}
    >
      {whole}
      {fraction === undefined ? null : (
        <>
          {isBreakable ? <wbr /> : null}.{fraction}
        </>
      )}
    </data>
  );
  if (shown === exact) return text;
  return (
    <Tooltip text={exact}>
      <button type="button" className="cursor-help text-inherit">
        {text}
      </button>
    </Tooltip>
  );
}

/** An instant in Seoul time; the tooltip of the browser has the second and the zone. */
export function Time({ at, style = 'minute' }: { at: Instant | null; style?: TimeStyle }) {
  const format = useFormat();
  if (at === null) return <None />;
  return (
    <time
      dateTime={new Date(at).toISOString()}
      title={`${format.time(at, 'millisecond')} KST`}
      className="whitespace-nowrap"
    >
      {format.time(at, style)}
    </time>
  );
}

/** How long ago, or how long until: `3분 전`. */
export function RelativeTime({ at }: { at: Instant | null }) {
  const format = useFormat();
  const nowMs = useNow(10_000);
  if (at === null) return <None />;
  return (
    <time
      dateTime={new Date(at).toISOString()}
      title={`${format.time(at, 'second')} KST`}
      className="whitespace-nowrap"
    >
      {format.relative(at, nowMs)}
    </time>
  );
}

/** A span of milliseconds, or a dash when there is none. */
export function Duration({ ms }: { ms: number | null }) {
  const format = useFormat();
  return ms === null ? <None /> : <span className="whitespace-nowrap">{format.duration(ms)}</span>;
}

/** There is no value: a dash, read as "none". */
export function None() {
  const { t } = useTranslation();
  return (
    <span className="text-muted">
      <span aria-hidden="true">–</span>
      <span className="sr-only">{t('none')}</span>
    </span>
  );
}

export interface FigureProps {
  readonly label: ReactNode;
  readonly children: ReactNode;
  /** A line below: a comparison, a link to the rows. */
  readonly note?: ReactNode;
  /** The one number that the person came for. */
  readonly isMain?: boolean;
  /** A text such as an address: it has a row of its own on a phone. */
  readonly isLong?: boolean;
}

/** A number with its name. Several stand in a `FigureRow`. */
export function Figure({ label, children, note, isMain = false, isLong = false }: FigureProps) {
  return (
    <div
      className={classNames(
        'min-w-0 max-md:min-w-min max-md:grow',
        isMain || isLong ? 'max-md:basis-full' : 'max-md:basis-[calc(50%-8px)]',
      )}
    >
      <dt className="text-sm text-muted">{label}</dt>
      <dd
        className={classNames(
          'font-semibold [&_data]:[overflow-wrap:normal] [&_data]:whitespace-normal',
          isMain ? 'text-2xl' : 'text-xl',
        )}
      >
        <BreakableAmounts value={true}>{children}</BreakableAmounts>
      </dd>
      {note === undefined ? null : <dd className="text-xs text-muted">{note}</dd>}
    </div>
  );
}

/** Figures side by side, separated by space alone; on a phone the main one, then two in a row where both fit. */
export function FigureRow({ children }: { children: ReactNode }) {
  return <dl className="flex flex-wrap gap-x-10 gap-y-4 max-md:gap-x-4">{children}</dl>;
}

/** Names and values in two columns: the properties of one thing. */
export function Properties({
  rows,
}: {
  rows: readonly { readonly name: string; readonly value: ReactNode }[];
}) {
  return (
    <dl className="grid grid-cols-[minmax(0,2fr)_minmax(0,3fr)] gap-x-6 gap-y-1.5 text-sm max-md:gap-x-3 md:grid-cols-[max-content_minmax(0,1fr)]">
      {rows.map(({ name, value }) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export interface MeterProps {
  readonly used: Micro;
  /** Null: there is no limit, and no bar. */
  readonly limit: Micro | null;
  readonly label: string;
}

/** How much of a limit is used: amounts and a bar, amber from 80 %, red at the limit, each with its word. */
export function LimitMeter({ used, limit, label }: MeterProps) {
  const { t } = useTranslation();
  const format = useFormat();
  if (limit === null)
    return (
      <span className="whitespace-nowrap">
        {format.money(used)} <span className="text-muted">/ {t('noLimit')}</span>
      </span>
    );
  const share = shareOf(used, limit);
  const isFull = parseMicro(used) >= parseMicro(limit);
  const fill = isFull ? 'bg-bad' : share >= 0.8 ? 'bg-warn' : 'bg-accent';
  return (
    <div className="min-w-36">
      <div className="flex flex-wrap justify-between gap-x-3 text-sm">
        <span>
          <span className="whitespace-nowrap">{format.money(used, { maxDecimals: 2 })}</span>{' '}
          <span className="whitespace-nowrap text-muted">/ {format.money(limit, { maxDecimals: 2 })}</span>
        </span>
        <span className={isFull ? 'text-bad' : share >= 0.8 ? 'text-warn' : 'text-muted'}>
          {isFull ? t('limitReached') : format.percent(share)}
        </span>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: the element meter cannot be styled in all browsers. */}
      <div
        role="meter"
        aria-label={label}
        aria-valuenow={Math.round(share * 100)}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuetext={`${format.money(used)} / ${format.money(limit)}`}
        className="mt-1 h-1 overflow-hidden rounded-full bg-pressed"
      >
        <div className={`h-full rounded-full ${fill}`} style={{ width: `${share * 100}%` }} />
      </div>
    </div>
  );
}
