import type { CliPaths } from '../app/config-source.ts';
import type { ProcessContext } from '../app/process-context.ts';
import type { OperatorService } from '../operations/operator-service.ts';

/** What the commands need from the process. */
export interface CliContext extends ProcessContext {
  /** Opens the configured database; starts the embedded server if it is not running. */
  readonly openOperatorService: (paths: CliPaths) => Promise<OperatorService>;
}
