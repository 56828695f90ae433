import { useTranslation } from 'react-i18next';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { type Client, clients, programOf, programWithKey } from './program-texts.ts';

export interface ProgramsProps {
  readonly model: string;
  /** A key that is shown: the programs have it, do not state an app, and come after its variables. */
  readonly plaintext?: string;
}

/** Programs that call a model and state their app, one for each kind of client. */
export function Programs({ model, plaintext }: ProgramsProps) {
  const { t } = useTranslation('programs');
  const base = `${window.location.origin}/api/v1`;
  const context = { base, model, message: t('message') };
  const tabOf = <Value extends string>(value: Value, label: string, code: string) => ({
    value,
    label,
    content: <CodeBlock label={label} code={code} />,
  });
  const programs = clients.map((value) =>
    tabOf<Client | 'env'>(
      value,
      t(`client.${value}`),
      plaintext === undefined ? programOf(value, context) : programWithKey(value, context, plaintext),
    ),
  );
  const variables = `OPENAI_BASE_URL=${base}\nOPENAI_API_KEY=${plaintext}`;
  return (
    <Tabs
      label={t('clients')}
      tabs={plaintext === undefined ? programs : [tabOf('env', '.env', variables), ...programs]}
    />
  );
}
