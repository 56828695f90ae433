import { useTranslation } from 'react-i18next';
import { Page as Frame } from '../../app/page.tsx';
import { oneOf, type SearchSchema, useSearchParams } from '../../app/search-params.ts';
import { Segmented } from '../../ui/tabs.tsx';
import { AppRanking } from './app-ranking.tsx';
import { ModelRanking } from './model-ranking.tsx';

const views = ['apps', 'models'] as const;
type View = (typeof views)[number];
const schema: SearchSchema<{ view: View }> = { view: oneOf(views, 'apps') };

/** U10: which apps and models the world uses, from the datasets; open to anybody. */
export function Page() {
  const { t } = useTranslation('rankings');
  const [{ view }, change] = useSearchParams(schema);
  return (
    <Frame
      title={t('title')}
      actions={
        <Segmented
          label={t('viewLabel')}
          value={view}
          onChange={(next) => change({ view: next })}
          options={views.map((value) => ({ value, label: t(`view.${value}`) }))}
        />
      }
    >
      {view === 'apps' ? <AppRanking /> : <ModelRanking />}
    </Frame>
  );
}
