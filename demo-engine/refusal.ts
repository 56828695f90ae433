/** A request that is refused, in the words of OpenAI's errors. */
export class Refusal extends Error {
  readonly status: number;
  readonly parameter: string | null;
  readonly code: string | null;

  /** `parameter` names the field of the body that is wrong; `code` is for machines. */
  constructor(status: number, message: string, parameter: string | null = null, code: string | null = null) {
    super(message);
    this.status = status;
    this.parameter = parameter;
    this.code = code;
  }
}

/** The body of an error response; what is not a `Refusal` keeps its message to itself. */
export function errorBodyOf(thrown: unknown): { readonly status: number; readonly body: object } {
  if (!(thrown instanceof Refusal)) {
    return {
      status: 500,
      body: { error: { message: 'internal error', type: 'server_error', param: null, code: null } },
    };
  }
  const type = thrown.status === 503 ? 'unavailable_error' : 'invalid_request_error';
  return {
    status: thrown.status,
    body: { error: { message: thrown.message, type, param: thrown.parameter, code: thrown.code } },
  };
}
