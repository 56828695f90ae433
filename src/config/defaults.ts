/** The ports that Naru listens on when `naru.yaml` names none. */
export const defaultPorts = { listen: 8787, admin: 8788 } as const;

/** How long the journal keeps settlements that a standby may lack. */
export const defaultKeepSettledMs = 600_000;
