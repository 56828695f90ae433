/** The colour of a standing of a key or an account; its word stands beside it. */
export const standingTones = {
  active: 'good',
  switched_off: 'neutral',
  suspended_no_credit: 'warn',
  suspended_by_admin: 'bad',
  closed: 'neutral',
  expired: 'neutral',
  revoked: 'neutral',
} as const;
