import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { Link } from '../../app/link.tsx';
import { ActionButton } from '../../app/permission.tsx';
import { parseMicro } from '../../format/money.ts';
import { RequestDetail } from '../../requests/request-detail.tsx';
import { RequestPage } from '../../requests/request-page.tsx';
import { RefundRequest } from '../account/refund-request.tsx';

/** A2: one request of an account as its owner sees it, and its refund. */
export function Page() {
  const { t } = useTranslation('account');
  const params = useParams({ strict: false }) as { readonly id?: string; readonly request?: string };
  const { id: account = '', request: id = '' } = params;
  const [isRefunding, setIsRefunding] = useState(false);
  const owner = useQuery(readQuery('GET /console/api/accounts/{account}', { params: { account } }));
  const request = useQuery(
    readQuery('GET /console/api/accounts/{account}/generations/{id}', { params: { account, id } }),
  );
  const back = (
    <Link
      to={`/accounts/${account}`}
      search={(before) => ({ ...before, tab: 'requests' })}
      className="hover:underline"
    >
      {t('backToRequests', { name: owner.data?.name ?? `#${account}` })}
    </Link>
  );
  return (
    <RequestPage request={request} back={back}>
      {(detail) => {
        const { key, app, cost_micro: cost } = detail.listing;
        return (
          <>
            <RequestDetail
              detail={detail}
              back={back}
              keyLink={key === null ? null : { to: `/keys/${key.hash}` }}
              appLink={
                app === null
                  ? null
                  : { to: `/accounts/${account}`, search: { tab: 'requests', app: String(app.id) } }
              }
              actions={
                parseMicro(cost) === 0n ? null : (
                  <ActionButton needs="admin" onClick={() => setIsRefunding(true)}>
                    {t('refund')}
                  </ActionButton>
                )
              }
            />
            {isRefunding ? (
              <RefundRequest id={account} row={detail.listing} onClose={() => setIsRefunding(false)} />
            ) : null}
          </>
        );
      }}
    </RequestPage>
  );
}
