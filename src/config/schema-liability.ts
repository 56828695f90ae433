import { object, withDefault, won } from './fields.ts';

/** What the operator's console compares outstanding credit with. */
export const liability = object(
  'Thresholds for prepaid credit, which the console shows; they reject nothing. The defaults are the amounts below which an issuer of electronic prepayment means need not register in Korea (Electronic Financial Transactions Act, since 2024-09-15); ask a lawyer whether they apply to you.',
  {
    outstanding_krw: withDefault(won('Outstanding paid credit in won.'), '3000000000'),
    issued_krw: withDefault(won('Paid credit issued within a year, in won.'), '50000000000'),
  },
);
