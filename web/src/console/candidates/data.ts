import type { ResponseOf } from '../../api/client.ts';

type Found = ResponseOf<'GET /console/api/candidates'>;
export type Candidate = Found['candidates'][number];
export type DrainedElsewhere = Found['drained_elsewhere'][number];
export type Provider = Found['providers'][number];
