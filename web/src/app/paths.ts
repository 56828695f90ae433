/** The paths of the dashboard; its table of pages has one page for each. */
export type DashboardPath =
  | '/'
  | '/usage'
  | '/requests'
  | '/requests/$id'
  | '/apps'
  | '/apps/$id'
  | '/keys'
  | '/management-keys'
  | '/credits'
  | '/statement'
  | '/transactions'
  | '/models'
  | '/models/$author/$slug'
  | '/playground'
  | '/rankings'
  | '/providers'
  | '/docs'
  | '/settings'
  | '/sign-in'
  | '/link'
  | '/components';

/** The paths of the console. */
export type ConsolePath =
  | '/'
  | '/open'
  | '/usage'
  | '/requests'
  | '/requests/$id'
  | '/accounts'
  | '/accounts/$id'
  | '/accounts/$id/requests/$request'
  | '/accounts/$id/statement'
  | '/keys'
  | '/keys/$hash'
  | '/top-ups'
  | '/liability'
  | '/announcements'
  | '/slots'
  | '/prices'
  | '/exchange'
  | '/books'
  | '/month-end'
  | '/quarantine'
  | '/datasets'
  | '/audit'
  | '/operators'
  | '/candidates'
  | '/configuration'
  | '/settings'
  | '/sign-in'
  | '/link';

/** A path of either application. */
export type Path = DashboardPath | ConsolePath;

/** A path with its parameters filled in; `.` is the present page. */
export type Address = AddressOf<Path> | '.';
type AddressOf<P extends string> = P extends `${infer Head}$${string}` ? `${Head}${string}` : P;
