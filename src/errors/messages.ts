/**
 * Every message that a refusal of the API can carry: Korean first, then English, with what they
 * have in common as parameters. `requirements` and `rejectReasons` are the parts from which some of
 * them are made. Clients never branch on a message (spec:errors/1.3): its wording may change.
 */

/** One text in both languages. */
export interface Bilingual {
  readonly ko: string;
  readonly en: string;
}

/** A message of this file. The brand keeps free text out of `refuse`. */
export type Message = string & { readonly _brand: 'Message' };

function message(ko: string, en: string): Message {
  return `${ko} ${en}` as Message;
}

/** What a value must be, as the predicate of a sentence about it. The Korean fits behind `… 값은`. */
export const requirements = {
  string: { ko: '문자열이어야 합니다', en: 'must be a string' },
  businessNumber: {
    ko: '124-81-00998 형식의 올바른 사업자등록번호여야 합니다',
    en: 'must be a Korean business number such as 124-81-00998',
  },
  lastDay: (days: number) => ({
    ko: `from과 같거나 그 이후여야 하며, 기간은 ${days}일 이하여야 합니다`,
    en: `must not be before from, nor more than ${days} days in all`,
  }),
  withoutNul: { ko: 'NUL 문자가 없는 문자열이어야 합니다', en: 'must have no NUL character' },
  boolean: { ko: 'true 또는 false여야 합니다', en: 'must be a boolean' },
  object: { ko: '객체여야 합니다', en: 'must be an object' },
  array: { ko: '배열이어야 합니다', en: 'must be an array' },
  strings: { ko: '문자열 배열이어야 합니다', en: 'must be an array of strings' },
  stringOrStrings: {
    ko: '문자열 또는 문자열 배열이어야 합니다',
    en: 'must be a string or an array of strings',
  },
  stringOrObject: { ko: '문자열 또는 객체여야 합니다', en: 'must be a string or an object' },
  nonNegative: { ko: '0 이상의 수여야 합니다', en: 'must be a number of at least 0' },
  number: (min: number, max: number) => ({
    ko: `${min} 이상 ${max} 이하의 수여야 합니다`,
    en: `must be a number from ${min} to ${max}`,
  }),
  integer: (min: number, max: number) => ({
    ko: `${min} 이상 ${max} 이하의 정수여야 합니다`,
    en: `must be an integer from ${min} to ${max}`,
  }),
  minInteger: (min: number) => ({
    ko: `${min} 이상의 정수여야 합니다`,
    en: `must be an integer of at least ${min}`,
  }),
  oneOf: (values: readonly string[]) => ({
    ko: `다음 중 하나여야 합니다: ${values.join(', ')}`,
    en: `must be one of ${values.join(', ')}`,
  }),
  nullOrOneOf: (values: readonly string[]) => ({
    ko: `null이거나 다음 중 하나여야 합니다: ${values.join(', ')}`,
    en: `must be null or one of ${values.join(', ')}`,
  }),
  date: { ko: 'YYYY-MM-DD 형식의 날짜여야 합니다', en: 'must be a date as YYYY-MM-DD' },
  password: (min: number, max: number) => ({
    ko: `${min}자 이상 ${max}자 이하여야 합니다`,
    en: `must have ${min} to ${max} characters`,
  }),
  host: { ko: '호스트 이름이나 IP 주소여야 합니다', en: 'must be a host name or an IP address' },
  email: { ko: '올바른 이메일 주소여야 합니다', en: 'must be a valid e-mail address' },
  line: (max: number) => ({
    ko: `한 줄로 된 ${max}자 이하의 문자열이어야 합니다`,
    en: `must be a single line of at most ${max} characters`,
  }),
  stepOfLongSpan: {
    ko: '8일이 넘는 기간에는 day, week, month 중 하나여야 합니다',
    en: 'must be day, week or month for more than eight days',
  },
  instant: {
    ko: '2026-12-31T23:59:59Z 형식의 시각이어야 합니다',
    en: 'must be a timestamp such as 2026-12-31T23:59:59Z',
  },
  nullOrInstant: {
    ko: 'null이거나 2026-12-31T23:59:59Z 형식의 시각이어야 합니다',
    en: 'must be null or a timestamp such as 2026-12-31T23:59:59Z',
  },
  spendLimit: {
    ko: 'null이거나 0 이상 10^15 이하의 수여야 합니다',
    en: 'must be null or a number from 0 to 10^15',
  },
  allowedNames: (max: number) => ({
    ko: `null이거나 서로 다른 이름 1개 이상 ${max}개 이하의 배열이어야 합니다`,
    en: `must be null or an array of 1 to ${max} names`,
  }),
  storableName: (maxLength: number) => ({
    ko: `올바른 유니코드 문자로 된 ${maxLength}자 이하의 문자열이어야 합니다`,
    en: `must be well-formed text of at most ${maxLength} characters`,
  }),
  notEmpty: { ko: '비어 있을 수 없습니다', en: 'must not be empty' },
  messages: {
    ko: '메시지가 하나 이상 있는 배열이어야 합니다',
    en: 'must be an array of at least one message',
  },
  maxLength: (max: number) => ({
    ko: `${max}자 이하의 문자열이어야 합니다`,
    en: `must be a string of at most ${max} characters`,
  }),
  eachMaxLength: (max: number) => ({
    ko: `각각 ${max}자 이하인 문자열의 배열이어야 합니다`,
    en: `must be an array of strings of at most ${max} characters each`,
  }),
  maxMembers: (max: number) => ({
    ko: `멤버가 ${max}개 이하인 객체여야 합니다`,
    en: `must be an object of at most ${max} members`,
  }),
  maxEntries: (max: number) => ({
    ko: `쉼표로 구분된 항목이 ${max}개 이하여야 합니다`,
    en: `must have at most ${max} entries, separated by commas`,
  }),
  maxItems: (max: number) => ({
    ko: `항목이 ${max}개 이하인 배열이어야 합니다`,
    en: `must have ${max} items or fewer`,
  }),
  content: {
    ko: '문자열, null, 또는 `type`이 있는 파트의 배열이어야 합니다',
    en: 'must be a string, null or an array of parts with a `type`',
  },
  prompt: {
    ko: '문자열, 문자열 배열, 또는 토큰 ID여야 합니다',
    en: 'must be a string, an array of strings, or token ids',
  },
  sort: {
    ko: '"price", "throughput", "latency", "exacto" 중 하나이거나, 그중 하나인 `by`와 "model" 또는 "none"인 `partition`의 객체여야 합니다',
    en: 'must be "price", "throughput", "latency" or "exacto", or an object of one of them as `by` and "model" or "none" as `partition`',
  },
  toolChoice: {
    ko: '"none", "auto", "required" 중 하나이거나, {"type": "function", "function": {"name": …}}처럼 도구를 지정하는 객체여야 합니다',
    en: 'must be "none", "auto" or "required", or an object that names a tool, as {"type": "function", "function": {"name": …}} does',
  },
  toolChoiceType: {
    ko: '"function", "custom", "allowed_tools" 중 하나이거나 `tools`에 있는 도구의 `type`이어야 합니다',
    en: 'must be "function", "custom", "allowed_tools" or the `type` of one of the `tools`',
  },
  microWon: {
    ko: '0 이상 10^21 이하의 정수를 담은 문자열(마이크로원)이어야 합니다',
    en: 'must be a string with an integer of micro-won from 0 to 10^21',
  },
  creditMicro: {
    ko: '1 이상 10^18 이하의 정수를 담은 문자열(마이크로원)이어야 합니다',
    en: 'must be a string with an integer of micro-won from 1 to 10^18',
  },
  movedMicro: {
    ko: '0이 아니고 절댓값이 10^18 이하인 정수를 담은 문자열(마이크로원)이어야 합니다',
    en: 'must be a string with an integer of micro-won from -10^18 to 10^18 that is not 0',
  },
  wonAmount: { ko: '0 이상의 원화 금액이어야 합니다', en: 'must be an amount in won of at least 0' },
  cutoffs: {
    ko: '0 이상의 수이거나, 백분위별로 0 이상의 수를 담은 객체여야 합니다',
    en: 'must be a number of at least 0, or an object of such numbers by percentile',
  },
  validJson: { ko: '올바른 JSON이어야 합니다', en: 'must be valid JSON' },
  sampledPeriod: {
    ko: '`category` 또는 `language_type`과 함께 사용할 때는 week 또는 month여야 합니다',
    en: 'must be week or month when it is used with `category` or `language_type`',
  },
  minDate: (date: string) => ({ ko: `${date} 이후여야 합니다`, en: `must be on or after ${date}` }),
  notAfter: (other: string) => ({
    ko: `\`${other}\`보다 늦을 수 없습니다`,
    en: `must not be after \`${other}\``,
  }),
  documented: {
    ko: 'API 문서의 형식을 따라야 합니다',
    en: 'must have the form that the API document states',
  },
} as const satisfies Readonly<Record<string, Bilingual | ((...parameters: never[]) => Bilingual)>>;

/** Why a candidate cannot take a request: the end of a sentence about it. */
export const rejectReasons = {
  drained: {
    ko: '운영자가 새 요청을 중단했습니다',
    en: 'an operator drained it, so it takes no new requests',
  },
  not_allowed: {
    ko: '이 API 키에 허용되지 않은 제공자입니다',
    en: 'this API key may not use the provider',
  },
  not_in_only: { ko: '`provider.only`에 없습니다', en: 'not in `provider.only`' },
  ignored: { ko: '`provider.ignore`에 있습니다', en: 'in `provider.ignore`' },
  quantization: {
    ko: '`provider.quantizations`에 맞지 않습니다',
    en: 'excluded by `provider.quantizations`',
  },
  data_collection: {
    ko: '`provider.data_collection` 조건에 맞지 않습니다',
    en: 'excluded by `provider.data_collection`',
  },
  not_distillable: {
    ko: '`provider.enforce_distillable_text` 조건에 맞지 않습니다',
    en: 'excluded by `provider.enforce_distillable_text`',
  },
  not_zdr: { ko: '`provider.zdr` 조건에 맞지 않습니다', en: 'excluded by `provider.zdr`' },
  above_max_price: {
    ko: '`provider.max_price`(토큰 100만 개당 원)보다 비쌉니다',
    en: 'the price in won per million tokens exceeds `provider.max_price`',
  },
  parameters_not_supported: {
    ko: '지원하지 않는 파라미터가 있습니다',
    en: 'a parameter of the request is not supported',
  },
  context_too_small: {
    ko: '프롬프트가 컨텍스트 길이를 넘습니다',
    en: 'the prompt exceeds the context length',
  },
  input_not_supported: { ko: '지원하지 않는 종류의 입력이 있습니다', en: 'a kind of input is not supported' },
  output_not_supported: {
    ko: '이미지와 음성 생성은 제공하지 않습니다',
    en: 'the generation of images and speech is not offered',
  },
  tools_not_supported: { ko: '도구 사용을 지원하지 않습니다', en: 'tool use is not supported' },
  not_in_order: {
    ko: '`provider.order`에 없고 대체 후보가 허용되지 않습니다',
    en: 'not in `provider.order`, and fallbacks are not allowed',
  },
  fallback_not_allowed: { ko: '대체 후보가 허용되지 않습니다', en: 'fallbacks are not allowed' },
  part_not_supported: {
    ko: '요청에 지원하지 않는 부분이 있습니다',
    en: 'a part of the request is not supported',
  },
} as const satisfies Readonly<Record<string, Bilingual>>;

export const messages = {
  invalidApiKey: () => message('유효하지 않은 API 키입니다.', 'Invalid API key.'),
  expiredApiKey: () => message('만료된 API 키입니다.', 'This API key has expired.'),
  keySuspended: () => message('운영자가 정지한 API 키입니다.', 'This API key was suspended by an operator.'),
  insufficientCredits: () =>
    message(
      '크레딧이 부족합니다. 충전한 후 다시 시도해 주세요.',
      'Insufficient credits. Add credit and try again.',
    ),
  keyLimitExceeded: () =>
    message(
      'API 키가 사용 한도에 도달했습니다. 한도를 늘리거나, 초기화되는 한도라면 다음 초기화를 기다려 주세요.',
      'This API key has reached its spend limit. Raise the limit or, if it resets, wait for the next reset.',
    ),
  accountClosed: () =>
    message('해지된 계정에는 키를 만들 수 없습니다.', 'A closed account cannot have new keys.'),
  tooManyKeys: (max: number) =>
    message(
      `계정당 API 키는 최대 ${max}개입니다. 사용하지 않는 키를 폐기해 주세요.`,
      `An account can have at most ${max} keys; revoke an unused one.`,
    ),
  tooManyRevokedKeys: (max: number) =>
    message(
      `이 계정은 지난 24시간 동안 API 키를 ${max}개 폐기했습니다. 늦어도 24시간이 지나면 새 키를 만들 수 있습니다.`,
      `This account revoked ${max} keys in the last 24 hours. You can create a key again after 24 hours at the latest.`,
    ),

  tooManyRequests: () =>
    message(
      '요청이 너무 많습니다. Retry-After에 표시된 시간 후에 다시 시도해 주세요.',
      'Too many requests; retry after the time in Retry-After.',
    ),
  tooManyRequestsOfKey: (max: number) =>
    message(
      `이 API 키는 분당 요청이 최대 ${max}개입니다. Retry-After에 표시된 시간 후에 다시 시도해 주세요.`,
      `This API key may send ${max} requests a minute; retry after the time in Retry-After.`,
    ),
  tooManyConnections: () =>
    message('연결이 너무 많습니다. 잠시 후 다시 시도해 주세요.', 'Too many connections; retry later.'),
  overloaded: () =>
    message(
      '서버에 부하가 많습니다. Retry-After에 표시된 시간 후에 다시 시도해 주세요.',
      'The server is overloaded; retry after the time in Retry-After.',
    ),
  internalError: () => message('서버 내부 오류가 발생했습니다.', 'Internal server error.'),
  databaseAway: () =>
    message(
      '서버가 지금 요청을 처리할 수 없습니다. Retry-After에 표시된 시간 후에 다시 시도해 주세요.',
      'The server cannot handle the request at the moment; retry after the time in Retry-After.',
    ),
  serverStopping: () =>
    message('서버가 종료되고 있어 요청을 중단했습니다.', 'The server is stopping and aborted the request.'),

  noHostHeader: () => message('요청에 Host 헤더가 없습니다.', 'The request has no Host header.'),
  twoHostHeaders: () =>
    message('요청에 Host 헤더가 둘 이상 있습니다.', 'The request has more than one Host header.'),
  notHttp: () => message('올바른 HTTP 요청이 아닙니다.', 'The request is not valid HTTP.'),
  headTooLarge: (maxBytes: number) =>
    message(
      `요청 라인과 헤더가 ${maxBytes}바이트를 넘습니다.`,
      `The request line and the headers are larger than ${maxBytes} bytes.`,
    ),
  requestTooSlow: () =>
    message('요청이 제한 시간 안에 모두 도착하지 않았습니다.', 'The request did not arrive in time.'),
  bodyTooSlow: (minBytesPerSecond: number) =>
    message(
      `본문이 너무 느리게 도착합니다. 초당 ${minBytesPerSecond}바이트 이상으로 보내 주세요.`,
      `The body arrives too slowly; send at least ${minBytesPerSecond} bytes per second.`,
    ),
  chunksTooSmall: (minBytes: number) =>
    message(
      `본문이 너무 작은 청크로 나뉘어 있습니다. 청크마다 ${minBytes}바이트 이상을 보내 주세요.`,
      `The body arrived in too many small chunks; send at least ${minBytes} bytes in each chunk.`,
    ),
  bodyTooDeep: () => message('본문의 중첩이 너무 깊습니다.', 'The body is nested too deeply.'),
  bodyTooManyValues: () => message('본문에 값이 너무 많습니다.', 'The body has too many values.'),
  bodyEncoding: (name: string) =>
    message(
      `본문의 인코딩 \`${name}\`은 지원하지 않습니다. gzip, deflate, br, zstd를 두 번까지 사용할 수 있습니다.`,
      `The content encoding \`${name}\` is not supported. Use gzip, deflate, br or zstd, two of them at most.`,
    ),
  bodyDamaged: (name: string) =>
    message(`본문을 \`${name}\`으로 풀 수 없습니다.`, `The body cannot be decoded as \`${name}\`.`),
  bodyNotUtf8: () => message('본문이 올바른 UTF-8이 아닙니다.', 'The body is not valid UTF-8.'),
  bodyNotJson: () => message('본문이 올바른 JSON이 아닙니다.', 'The body is not valid JSON.'),
  bodyNotObject: () => message('본문은 JSON 객체여야 합니다.', 'The body must be a JSON object.'),
  missing: (name: string) => message(`\`${name}\` 값이 없습니다.`, `\`${name}\` is missing.`),
  unknownMember: (name: string) =>
    message(`알 수 없는 멤버입니다: \`${echoed(name)}\`.`, `\`${echoed(name)}\` is not a known member.`),
  invalidValue: (name: string, { ko, en }: Bilingual) =>
    message(`\`${name}\` 값은 ${ko}.`, `\`${name}\` ${en}.`),
  queryTooLong: (maxBytes: number) =>
    message(
      `쿼리가 ${maxBytes}바이트를 넘습니다. 더 짧은 쿼리를 보내 주세요.`,
      `The query is longer than ${maxBytes} bytes; send a shorter one.`,
    ),
  exclusiveFilters: () =>
    message(
      '`category`와 `language_type`은 다른 필터와 함께 사용할 수 없습니다.',
      '`category` and `language_type` cannot be combined with another filter.',
    ),
  windowTooLong: (maxDays: number) =>
    message(`조회 기간은 최대 ${maxDays}일입니다.`, `The date range must have at most ${maxDays} days.`),

  /** In English only (spec:errors/9.1). Clients of OpenAI ask for one model by its id. */
  noSuchPath: (path: string) => {
    const hint = path.startsWith('/api/v1/models/') ? ' GET /api/v1/models lists the models.' : '';
    return `${echoed(path)} is not supported by this service.${hint}` as Message;
  },
  methodNotAllowed: (method: string, allowed: readonly string[]) =>
    message(
      `이 경로에서는 ${method} 메서드를 사용할 수 없습니다. 사용 가능한 메서드: ${allowed.join(', ')}.`,
      `${method} is not allowed here; use ${allowed.join(', ')}.`,
    ),
  /** In Korean only (spec:api/6.3). */
  noSuchKey: (shortHash: string) => `키를 찾을 수 없습니다: ${shortHash}` as Message,
  noSuchPageKey: () => message('해당 API 키가 없습니다.', 'No such API key.'),
  noSuchModel: () => message('해당 모델이 없습니다.', 'No such model.'),
  noSuchPage: () => message('해당 화면이 없습니다.', 'No such page.'),
  noSuchSession: () => message('해당 세션이 없습니다.', 'No such session.'),
  noSuchPasskey: () => message('해당 패스키가 없습니다.', 'No such passkey.'),
  noSuchOperator: () => message('해당 운영자가 없습니다.', 'No such operator.'),
  noSuchAccount: () => message('해당 계정이 없습니다.', 'No such account.'),
  noSuchCandidate: () => message('해당 후보가 없습니다.', 'No such candidate.'),
  noSuchSlot: () => message('해당 슬롯이 없습니다.', 'No such slot.'),
  noSuchApp: () => message('해당 앱이 없습니다.', 'No such app.'),
  noSuchAnnouncement: () =>
    message('진행 중이거나 예정된 해당 공지가 없습니다.', 'No such announcement, or it has ended.'),
  noSuchTopup: () => message('해당 충전 요청이 없습니다.', 'No such top-up request.'),
  noSuchPayment: () => message('해당 결제가 없습니다.', 'No such payment.'),
  noSuchQuarantined: () =>
    message('결정을 기다리는 해당 정산이 없습니다.', 'No such settlement waits for a decision.'),
  noSuchGeneration: () => message('해당 생성 기록이 없습니다.', 'No such generation.'),

  modelNotFound: (id: string) =>
    message(`존재하지 않는 모델 ID입니다: ${echoed(id)}.`, `${echoed(id)} is not a valid model id.`),
  modelNotAllowed: (id: string) =>
    message(
      `이 API 키에 허용되지 않은 모델입니다: ${echoed(id)}. 키의 허용 모델을 변경하거나 다른 모델을 사용해 주세요.`,
      `This API key may not use ${echoed(id)}. Change the allowed models of the key or use another model.`,
    ),
  noModelMatches: (name: string) =>
    message(
      `\`allowed_models\`의 ${echoed(name)}에 해당하는 모델이 없습니다. GET /api/v1/models에서 모델 ID를 확인해 주세요.`,
      `No model matches ${echoed(name)} of \`allowed_models\`. GET /api/v1/models lists the ids.`,
    ),
  noProviderMatches: (name: string) =>
    message(
      `\`allowed_providers\`의 ${echoed(name)}에 해당하는 제공자가 없습니다. GET /api/v1/providers에서 확인해 주세요.`,
      `No provider matches ${echoed(name)} of \`allowed_providers\`. GET /api/v1/providers lists them.`,
    ),
  noEndpointsFound: (models: readonly string[], reasons: readonly Bilingual[]) => {
    const names = models.join(', ');
    return message(
      `이 요청을 처리할 수 있는 엔드포인트가 없습니다(${names}): ${reasons.map(({ ko }) => ko).join(', ')}.`,
      `No endpoints found for ${names}: ${reasons.map(({ en }) => en).join(', ')}.`,
    );
  },
  modelLoading: () =>
    message(
      '모델을 불러오는 중입니다. Retry-After에 표시된 시간 후에 다시 시도해 주세요.',
      'The model is loading; retry after the time in Retry-After.',
    ),
  earlierRequestsTooSlow: () =>
    message(
      '이 계정에서 먼저 보낸 요청이 제한 시간 안에 끝나지 않았습니다.',
      'Earlier requests of this account did not end in time.',
    ),
  upstreamTooSlow: () =>
    message('업스트림이 제한 시간 안에 응답하지 않았습니다.', 'The upstream did not respond in time.'),
  upstreamIdle: () =>
    message('업스트림의 응답이 도중에 중단되었습니다.', 'The upstream stopped sending its response.'),
  responseTooSlow: () =>
    message(
      '응답이 전체 제한 시간 안에 끝나지 않았습니다.',
      'The response did not end within the total time limit.',
    ),
  /** `reason`: the last upstream's, as a client may read it. */
  rejectedUpstream: (reason: string | null) =>
    message(
      '모든 업스트림이 이 요청을 거부했습니다. 다시 보내도 결과는 같습니다.',
      `Every upstream rejected this request; a retry will fail again.${reason === null ? '' : ` Reason: "${reason}".`}`,
    ),
  upstreamsFailed: () => message('모든 업스트림 호출이 실패했습니다.', 'Every upstream call failed.'),
  enginesFailed: () =>
    message(
      '이 모델의 엔진이 시작되지 않습니다. 운영자의 조치가 필요합니다.',
      'The engine of this model does not start; its operator has to repair it.',
    ),
  upstreamBroke: () =>
    message('업스트림의 응답 도중에 오류가 발생했습니다.', 'The upstream failed during its response.'),
} as const satisfies Readonly<Record<string, (...parameters: never[]) => Message>>;

/** The longest text of a request that a message repeats, in UTF-16 units (spec:errors/1.7). */
const maxEchoLength = 500;

/**
 * A text of the client for an error: whole, or its first 499 units and an ellipsis. Never splits a
 * character.
 */
export function echoed(text: string): string {
  if (text.length <= maxEchoLength) return text;
  const end = /[\ud800-\udbff]/.test(text.charAt(maxEchoLength - 2)) ? maxEchoLength - 2 : maxEchoLength - 1;
  return `${text.slice(0, end)}…`;
}
