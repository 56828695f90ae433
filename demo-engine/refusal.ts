/** A rejected request, in the format of OpenAI's errors. */
export class Refusal extends Error {
  readonly status: number;
  readonly parameter: string | null;
  readonly code: string | null;

  /** `parameter` names the invalid field of the body; `code` is for programs. */
  constructor(status: number, message: string, parameter: string | null = null, code: string | null = null) {
    super(message);
    this.status = status;
    this.parameter = parameter;
    this.code = code;
  }
}

/** The body of an error response; the message of an error other than a `Refusal` is not sent. */
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
