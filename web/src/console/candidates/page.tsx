import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { Page as Frame, Section } from '../../app/page.tsx';
import { QueryAge } from '../../app/queries-age.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { CandidateTable } from './candidate-table.tsx';
import type { Candidate } from './data.ts';
import { DrainDialog, type WantedDrain } from './drain-dialog.tsx';
import { DrainsElsewhere } from './drain-state.tsx';
import { Explain } from './explain.tsx';
import { ProviderTable } from './provider-table.tsx';
import { TestDialog } from './test-dialog.tsx';

const refreshMs = 5_000;

/** A4: who serves the models, how they do, a test and a drain of one, where a request would go. */
export function Page() {
  const { t } = useTranslation('candidates');
  const [tested, setTested] = useState<Candidate | null>(null);
  const [wanted, setWanted] = useState<WantedDrain | null>(null);
  const found = useQuery({ ...readQuery('GET /console/api/candidates', {}), refetchInterval: refreshMs });
  if (found.isError && found.data === undefined)
    return (
      <Frame title={t('title')}>
        <ReadError of={found} />
      </Frame>
    );
  return (
    <Frame title={t('title')} aside={<QueryAge of={found} />}>
      <p className="text-sm text-muted">{t('scope')}</p>
      <Section title={t('providers')}>
        <ProviderTable providers={found.data?.providers} />
      </Section>
      <Section title={t('candidates')}>
        <DrainsElsewhere rows={found.data?.drained_elsewhere ?? []} onResume={setWanted} />
        <CandidateTable candidates={found.data?.candidates} onTest={setTested} onDrain={setWanted} />
      </Section>
      <Section title={t('explain.title')} note={t('explain.note')}>
        <Explain models={[...new Set(found.data?.candidates.map(({ model }) => model))]} />
      </Section>
      {tested === null ? null : <TestDialog candidate={tested} onClose={() => setTested(null)} />}
      {wanted === null ? null : <DrainDialog wanted={wanted} onClose={() => setWanted(null)} />}
    </Frame>
  );
}
