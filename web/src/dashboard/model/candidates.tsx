import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { parseMicro } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Badge, Status } from '../../ui/badge.tsx';
import { Duration, None } from '../../ui/figures.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import type { Candidate, Model } from '../models/model.ts';

interface Row extends Candidate {
  /** Its place in the configured order: tags repeat where one provider has several candidates. */
  readonly index: number;
}

/** Who answers a model, each with its own price and its measurements. */
export function Candidates({ model }: { model: Model }) {
  const { t } = useTranslation('model');
  const rows = useMemo(() => model.candidates.map((one, index): Row => ({ ...one, index })), [model]);
  return (
    <DataTable
      id="model-candidates"
      isPlain
      label={t('candidates')}
      columns={useColumns()}
      rows={rows}
      rowId={({ index }) => String(index)}
    />
  );
}

function useColumns(): readonly Column<Row>[] {
  const { t } = useTranslation('model');
  const format = useFormat();
  return useMemo(
    (): readonly Column<Row>[] => [
      {
        id: 'provider',
        header: t('column.provider'),
        cell: ({ provider, is_local, is_drained }) => (
          <span className="flex flex-wrap items-center gap-1.5">
            {provider}
            {is_local ? <Badge>{t('models:local')}</Badge> : null}
            {is_drained === true ? (
              <Status tone="warn" icon="pause">
                {t('models:drained')}
              </Status>
            ) : null}
          </span>
        ),
        value: ({ provider }) => provider,
        isTitle: true,
      },
      {
        id: 'context',
        header: t('models:column.context'),
        kind: 'number',
        cell: (row) => format.count(row.context_length),
        value: (row) => row.context_length,
      },
      {
        id: 'quantization',
        header: t('column.quantization'),
        cell: ({ quantization }) => quantization ?? <None />,
        value: ({ quantization }) => quantization,
        isWideOnly: true,
      },
      {
        id: 'ttft',
        header: t('models:column.ttft'),
        kind: 'number',
        unit: 'ms',
        cell: (row) => <Duration ms={row.ttft_p50_ms} />,
        value: (row) => row.ttft_p50_ms,
      },
      {
        id: 'speed',
        header: t('column.speed'),
        kind: 'number',
        cell: ({ tokens_per_second_p50: speed }) => (speed === null ? <None /> : format.rate(speed)),
        value: (row) => row.tokens_per_second_p50,
      },
      {
        id: 'uptime',
        header: t('models:column.uptime'),
        kind: 'number',
        cell: ({ uptime_1d: uptime }) => (uptime === null ? <None /> : format.percent(uptime / 100)),
        value: (row) => row.uptime_1d,
      },
      {
        id: 'prompt',
        header: t('models:column.prompt'),
        kind: 'money',
        cell: (row) => format.pricePerMillion(row.price.prompt_micro),
        value: (row) => parseMicro(row.price.prompt_micro),
      },
      {
        id: 'completion',
        header: t('models:column.completion'),
        kind: 'money',
        cell: (row) => format.pricePerMillion(row.price.completion_micro),
        value: (row) => parseMicro(row.price.completion_micro),
        isMainFigure: true,
      },
    ],
    [format, t],
  );
}
