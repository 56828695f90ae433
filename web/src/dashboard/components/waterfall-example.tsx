import { useTranslation } from 'react-i18next';
import { Waterfall } from '../../ui/waterfall.tsx';

/** A request that three candidates met in different ways. */
export function WaterfallExample() {
  const { t } = useTranslation('components');
  return (
    <Waterfall
      label={t('waterfall')}
      candidates={[
        {
          id: '1',
          name: t('slotName'),
          outcome: 'skipped',
          startMs: null,
          phaseMs: {},
          reason: t('reasonCold'),
          costMicro: null,
        },
        {
          id: '2',
          name: 'openrouter',
          detail: 'qwen/qwen3-32b',
          outcome: 'failed',
          startMs: 4,
          phaseMs: { connect: 62, firstByte: 410 },
          reason: t('reasonFailed'),
          costMicro: null,
        },
        {
          id: '3',
          name: 'deepinfra',
          detail: 'Qwen/Qwen3-32B',
          outcome: 'won',
          startMs: 480,
          phaseMs: { queue: 120, connect: 38, firstByte: 290, stream: 1460 },
          reason: t('reasonWon'),
          costMicro: '1234567',
        },
      ]}
    />
  );
}
