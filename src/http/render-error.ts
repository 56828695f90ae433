import { Refusal, type RenderedError, refuse, renderRefusal } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { ServerStopping } from '../errors/request-aborted.ts';
import { describeError, type Log } from '../log/log.ts';

/**
 * The response to anything thrown. A refusal has its own; anything else is `500 server`, with its
 * details only in the log (spec:errors/2.14). A request that the end of the drain aborted is no
 * defect, so it is not logged as one.
 */
export function renderThrown(thrown: unknown, log: Log, requestId: string): RenderedError {
  if (thrown instanceof Refusal) return renderRefusal(thrown);
  if (thrown instanceof ServerStopping) return renderRefusal(refuse('server', messages.serverStopping()));
  log.error('internal_error', { request_id: requestId, detail: describeError(thrown) });
  return renderRefusal(refuse('server', messages.internalError()));
}
