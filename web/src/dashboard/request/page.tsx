import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { Link } from '../../app/link.tsx';
import { RequestDetail } from '../../requests/request-detail.tsx';
import { RequestPage } from '../../requests/request-page.tsx';

/** U3d: why this candidate answered, what the others did, and what each won was for. */
export function Page() {
  const { t } = useTranslation('request');
  const { id = '' } = useParams({ strict: false }) as { readonly id?: string };
  const request = useQuery(readQuery('GET /dashboard/api/generations/{id}', { params: { id } }));
  const back = (
    <Link to="/requests" search={(before) => before} className="hover:underline">
      {t('back')}
    </Link>
  );
  return (
    <RequestPage request={request} back={back}>
      {(detail) => {
        const { key, app, id: generation } = detail.listing;
        return (
          <RequestDetail
            detail={detail}
            back={back}
            keyLink={key === null ? null : { to: '/requests', search: { key: key.hash } }}
            appLink={app === null ? null : { to: `/apps/${app.id}` }}
            curl={`curl '${window.location.origin}/api/v1/generation?id=${generation}' -H "Authorization: Bearer $NARU_API_KEY"`}
          />
        );
      }}
    </RequestPage>
  );
}
