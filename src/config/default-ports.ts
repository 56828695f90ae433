/** The ports that Naru listens on when `naru.yaml` names none. */
export const defaultPorts = { listen: 8787, admin: 8788 } as const;
