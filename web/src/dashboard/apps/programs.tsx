import { useTranslation } from 'react-i18next';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { type Client, clients, programOf } from './program-texts.ts';

/** Programs that call a model and state their app, one for each kind of client. */
export function Programs({ model }: { model: string }) {
  const { t } = useTranslation('programs');
  const context = { base: `${window.location.origin}/api/v1`, model, message: t('message') };
  return (
    <Tabs<Client>
      label={t('clients')}
      tabs={clients.map((value) => ({
        value,
        label: t(`client.${value}`),
        content: <CodeBlock label={t(`client.${value}`)} code={programOf(value, context)} />,
      }))}
    />
  );
}
