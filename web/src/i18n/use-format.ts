import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import {
  formatCountAxis,
  formatMoney,
  formatMoneyAxis,
  formatPricePerMillion,
  type Language,
  type Micro,
  type MoneyStyle,
} from '../format/money.ts';
import { formatBytes, formatCount, formatCountCompact, formatPercent, formatRate } from '../format/number.ts';
import {
  formatDayShort,
  formatDuration,
  formatDurationAxis,
  formatMonth,
  formatRelative,
  formatTime,
  type Instant,
  type TimeStyle,
} from '../format/time.ts';

/** All formatters, bound to the language of the page. */
export interface Format {
  readonly language: Language;
  readonly money: (micro: Micro, style?: MoneyStyle) => string;
  readonly moneyAxis: (micro: number, maxMicro: number) => string;
  readonly pricePerMillion: (micro: Micro) => string;
  readonly count: (count: number | bigint) => string;
  readonly countCompact: (count: number | bigint) => string;
  readonly countAxis: (count: number, max: number) => string;
  readonly percent: (fraction: number) => string;
  readonly rate: (perSecond: number) => string;
  readonly bytes: (bytes: number) => string;
  readonly time: (instant: Instant, style?: TimeStyle) => string;
  readonly dayShort: (instant: Instant) => string;
  readonly month: (instant: Instant) => string;
  readonly relative: (instant: Instant, nowMs: number) => string;
  readonly duration: (durationMs: number) => string;
  readonly durationAxis: (durationMs: number, maxMs: number) => string;
}

/** The formatters of one language. */
export function formatIn(language: Language): Format {
  return {
    language,
    money: (micro, style) => formatMoney(micro, language, style),
    moneyAxis: (micro, maxMicro) => formatMoneyAxis(micro, maxMicro, language),
    pricePerMillion: (micro) => formatPricePerMillion(micro, language),
    count: formatCount,
    countCompact: (count) => formatCountCompact(count, language),
    countAxis: (count, max) => formatCountAxis(count, max, language),
    percent: formatPercent,
    rate: formatRate,
    bytes: formatBytes,
    time: (instant, style) => formatTime(instant, language, style),
    dayShort: (instant) => formatDayShort(instant, language),
    month: (instant) => formatMonth(instant, language),
    relative: (instant, nowMs) => formatRelative(instant, nowMs, language),
    duration: (durationMs) => formatDuration(durationMs, language),
    durationAxis: (durationMs, maxMs) => formatDurationAxis(durationMs, maxMs, language),
  };
}

/** The language of the page. */
export function useLanguage(): Language {
  const { i18n } = useTranslation();
  return i18n.language === 'en' ? 'en' : 'ko';
}

/** The formatters in the language of the page. */
export function useFormat(): Format {
  const language = useLanguage();
  return useMemo(() => formatIn(language), [language]);
}
