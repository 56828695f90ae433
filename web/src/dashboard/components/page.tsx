import { useTranslation } from 'react-i18next';
import { Page, Section } from '../../app/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { ChartExamples } from './chart-examples.tsx';
import { ControlExamples } from './control-examples.tsx';
import { FigureExamples } from './figure-examples.tsx';
import { OverlayExamples } from './overlay-examples.tsx';
import { StateExamples } from './state-examples.tsx';
import { TableExamples } from './table-examples.tsx';
import { WaterfallExample } from './waterfall-example.tsx';

/** Every component of the design system with its states: for engineers, and for tests in a browser. */
function ComponentsPage() {
  const { t } = useTranslation('components');
  return (
    <Page title={t('title')}>
      <Section title={t('controls')}>
        <ControlExamples />
      </Section>
      <Section title={t('figures')}>
        <FigureExamples />
      </Section>
      <Section title={t('overlays')}>
        <OverlayExamples />
      </Section>
      <Section title={t('tabs')}>
        <Tabs
          label={t('tabs')}
          tabs={[
            { value: 'one', label: t('tabOne'), content: <p>{t('tabOneText')}</p> },
            { value: 'two', label: t('tabTwo'), content: <p>{t('tabTwoText')}</p> },
          ]}
        />
      </Section>
      <Section title={t('waterfall')} note={t('waterfallNote')}>
        <WaterfallExample />
      </Section>
      <Section title={t('charts')}>
        <ChartExamples />
      </Section>
      <Section title={t('tables')}>
        <TableExamples />
      </Section>
      <Section title={t('states')}>
        <StateExamples />
      </Section>
    </Page>
  );
}

export { ComponentsPage as Page };
