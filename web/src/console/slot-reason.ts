import type { TFunction } from 'i18next';
import type { ResponseOf } from '../api/client.ts';

type Reason = ResponseOf<'GET /console/api/now'>['slots'][number]['reason'];

/** Why a slot is in its state; what an engine said is shown as it is. Empty: nothing is known. */
export function reasonText(t: TFunction<readonly ['slots', ...string[]]>, { code, detail }: Reason): string {
  return code === null ? detail : t(`slots:why.${code}`, { detail });
}
