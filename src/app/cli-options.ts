/** The paths that a command line names; null for the default. */
export interface CliPaths {
  /** The configuration file. */
  readonly config: string | null;
  readonly dataDir: string | null;
}

/** The options of `naru up` beside the configuration. */
export interface UpOptions extends CliPaths {
  readonly host: string | null;
  readonly port: number | null;
  /** The number of processes that share the port. */
  readonly workers: number;
  readonly json: boolean;
}
