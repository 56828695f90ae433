import { useTranslation } from 'react-i18next';
import { IconButton } from '../button.tsx';

/** Shows a chart as a table, and the table as a chart again. */
export function TableToggle({
  isTable,
  onChange,
}: {
  isTable: boolean;
  onChange: (isTable: boolean) => void;
}) {
  const { t } = useTranslation();
  return (
    <IconButton
      icon={isTable ? 'chart' : 'table'}
      size="sm"
      label={isTable ? t('chart.asChart') : t('chart.asTable')}
      aria-pressed={isTable}
      onClick={() => onChange(!isTable)}
    />
  );
}
