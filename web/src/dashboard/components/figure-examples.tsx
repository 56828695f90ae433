import { useTranslation } from 'react-i18next';
import { Badge, Status } from '../../ui/badge.tsx';
import { Sparkline } from '../../ui/chart/sparkline.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { CopyableId, CopyButton } from '../../ui/copy.tsx';
import { Duration, Figure, FigureRow, LimitMeter, Money, Properties, Time } from '../../ui/figures.tsx';

const exampleMs = Date.UTC(2026, 10, 22, 5, 4, 3, 210);
const code = `curl https://naru.example/api/v1/chat/completions \\
  -H "Authorization: Bearer $NARU_API_KEY" \\
  -d '{"model": "naru/demo", "messages": [{"role": "user", "content": "안녕"}]}'`;

/** Amounts, times, ids, states, code. */
export function FigureExamples() {
  const { t } = useTranslation('components');
  return (
    <div className="flex flex-col gap-6">
      <FigureRow>
        <Figure label={t('balance')} isMain note={t('balanceNote')}>
          <Money micro="1234568000000" />
        </Figure>
        <Figure label={t('spendToday')}>
          <Money micro="12345678901" maxDecimals={0} />
        </Figure>
        <Figure label={t('requests')}>12,345</Figure>
        <Figure label={t('change')}>
          <Money micro="-2500000000" signed />
        </Figure>
      </FigureRow>
      <div className="flex flex-wrap items-center gap-3">
        <Badge>{t('neutral')}</Badge>
        <Badge tone="accent">{t('local')}</Badge>
        <Badge tone="good">{t('ready')}</Badge>
        <Badge tone="warn">{t('expiresSoon')}</Badge>
        <Badge tone="bad">{t('revoked')}</Badge>
        <Status tone="good">{t('succeeded')}</Status>
        <Status tone="warn">{t('starting')}</Status>
        <Status tone="bad">{t('failed')}</Status>
        <Status tone="neutral">{t('off')}</Status>
        <Status tone="accent">{t('live')}</Status>
      </div>
      <div className="grid gap-6 md:grid-cols-2">
        <Properties
          rows={[
            {
              name: t('generationId'),
              value: <CopyableId id="gen-1764000000-aB3dE5fG7hI9jK1l" label={t('generationId')} />,
            },
            { name: t('time'), value: <Time at={exampleMs} style="second" /> },
            { name: t('duration'), value: <Duration ms={1254} /> },
            { name: t('cost'), value: <Money micro="1234567" /> },
            {
              name: t('days30'),
              value: <Sparkline values={[3, 5, 4, null, null, 8, 6, 9, 7]} label={t('days30')} />,
            },
          ]}
        />
        <div className="flex flex-col gap-3">
          <LimitMeter used="1200000000" limit="5000000000" label={t('limit')} />
          <LimitMeter used="4500000000" limit="5000000000" label={t('limit')} />
          <LimitMeter used="5000000000" limit="5000000000" label={t('limit')} />
          <LimitMeter used="1200000000" limit={null} label={t('limit')} />
          <div>
            <CopyButton text="sk-or-v1-example" label={t('copyKey')} />
          </div>
        </div>
      </div>
      <CodeBlock code={code} label="curl" />
    </div>
  );
}
