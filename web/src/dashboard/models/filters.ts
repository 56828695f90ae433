import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { list, oneOf, type SearchSchema, text, useSearchParams } from '../../app/search-params.ts';
import type { Filter } from '../../ui/filter-bar.tsx';
import type { Model } from './model.ts';

/** The smallest context that a model must have; empty: any. */
export const contextSizes = ['', '32000', '128000', '200000', '1000000'] as const;

/** What the catalogue is narrowed by, as it stands in the URL. */
export interface ModelSearch {
  readonly search: string;
  readonly context: (typeof contextSizes)[number];
  readonly where: readonly string[];
  readonly can: readonly string[];
  readonly provider: readonly string[];
}
const schema: SearchSchema<ModelSearch> = {
  search: text(),
  context: oneOf(contextSizes, ''),
  where: list(),
  can: list(),
  provider: list(),
};

/** The filters of the catalogue in the URL. */
export function useModelSearch() {
  return useSearchParams(schema);
}

/** The models that pass all filters: of one filter with several values any of them, but each ability. */
export function foundModels(models: readonly Model[], search: ModelSearch): readonly Model[] {
  const wanted = search.search.trim().toLowerCase();
  const { where, can, provider } = search;
  return models.filter(
    (model) =>
      `${model.id} ${model.name}`.toLowerCase().includes(wanted) &&
      model.context_length >= Number(search.context) &&
      (where.length === 0 || model.candidates.some((one) => where.includes(placeOf(one)))) &&
      (provider.length === 0 || model.candidates.some((one) => provider.includes(one.provider))) &&
      can.every((one) => abilitiesOf(model).includes(one)),
  );
}

/** The filters with the values that the catalogue has. */
export function useModelFilters(models: readonly Model[]): readonly Filter[] {
  const { t } = useTranslation('models');
  return useMemo(() => {
    const candidates = models.flatMap((model) => model.candidates);
    const plain = (value: string) => ({ value, label: value });
    return [
      {
        id: 'where',
        label: t('column.state'),
        options: unique(candidates.map(placeOf)).map((value) => ({ value, label: t(`place.${value}`) })),
      },
      {
        id: 'can',
        label: t('column.can'),
        options: unique(models.flatMap(abilitiesOf)).map((value) =>
          value === 'tools' ? { value, label: t('tools') } : plain(value),
        ),
      },
      {
        id: 'provider',
        label: t('provider'),
        options: unique(candidates.map((one) => one.provider)).map(plain),
      },
    ];
  }, [models, t]);
}

function placeOf({ is_local }: Model['candidates'][number]): 'local' | 'upstream' {
  return is_local ? 'local' : 'upstream';
}

/** What a model takes and does beside text. */
function abilitiesOf({ input_modalities, output_modalities, supports_tools }: Model): readonly string[] {
  return [
    ...[...input_modalities, ...output_modalities].filter((one) => one !== 'text'),
    ...(supports_tools ? ['tools'] : []),
  ];
}

function unique<T extends string>(values: readonly T[]): readonly T[] {
  return [...new Set(values)].toSorted();
}
