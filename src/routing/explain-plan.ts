import type { Candidate, Model } from '../catalogue/model.ts';
import { type Bilingual, rejectReasons } from '../errors/messages.ts';
import { withSeparators } from '../money/krw.ts';
import { type Rate, rateOfPico, rateToDecimal } from '../money/price.ts';
import { isoOf } from '../time/clock.ts';
import { type HealthStatus, halfAnHourMs } from '../upstreams/health-status.ts';
import type { CompletionRequest } from '../wire/chat.ts';
import { placeIn, type RejectReason } from './filter.ts';
import type { OrderingBasis, Plan, RoutingContext } from './plan.ts';
import type { DemotionReason } from './rank.ts';
import { sharesOf } from './weighted-order.ts';

/** Which candidate would handle a request, and why: the result of `naru route explain`. */
export interface Explanation {
  readonly models: readonly string[];
  readonly by: OrderingBasis;
  /** Those that are tried, in order, then the others. */
  readonly candidates: readonly ExplainedCandidate[];
}

/** One candidate and the reason for its position. */
export interface ExplainedCandidate {
  /** From 1; null: it is not tried. */
  readonly place: number | null;
  readonly model: string;
  readonly candidate: string;
  readonly provider: string;
  /** Why it is not tried, or demoted; null when neither. */
  readonly reason: RejectReason | DemotionReason | null;
  /** A complete sentence, without the full stop. */
  readonly why: string;
  /** The same in Korean, without the name and the position. */
  readonly why_ko: string;
}

/** Where the health data comes from: the running server, or nowhere. */
export type Knowledge = 'live' | 'none';

/** Explains a plan: one sentence for each candidate, with the figures that decided. Pure. */
export function explainPlan(
  request: CompletionRequest,
  models: readonly Model[],
  planned: Plan,
  given: RoutingContext & { readonly knowledge: Knowledge },
): Explanation {
  const explained = { request, models, planned, given };
  const demoted = new Map(planned.demoted.map(({ candidate, why }) => [candidate, why] as const));
  const kept = planned.chain.map((candidate, at) => {
    const reason = demoted.get(candidate) ?? null;
    const name = `${nameOf(explained, candidate)} ${ordinal(at + 1)}`;
    const because =
      reason === null ? orderReason(explained, candidate, at) : demotedReason(explained, candidate, reason);
    return rowOf(candidate, at + 1, reason, say(because.ko, `${name}: ${because.en}`));
  });
  const dropped = planned.rejected.map(({ candidate, why }) => {
    const because = rejectedReason(explained, candidate, why);
    const en = `${nameOf(explained, candidate)} is skipped: ${because.en}`;
    return rowOf(candidate, null, why, say(because.ko, en));
  });
  return { models: request.models, by: planned.orderedBy, candidates: [...kept, ...dropped] };
}

interface ExplainContext {
  readonly request: CompletionRequest;
  readonly models: readonly Model[];
  readonly planned: Plan;
  readonly given: RoutingContext & { readonly knowledge: Knowledge };
}

function rowOf(
  { modelId: model, label: candidate, providerTag: provider }: Candidate,
  place: number | null,
  reason: RejectReason | DemotionReason | null,
  { ko, en }: Bilingual,
): ExplainedCandidate {
  return { place, model, candidate, provider, reason, why: en, why_ko: ko };
}

function say(ko: string, en: string): Bilingual {
  return { ko, en };
}

/** With its model when the request names several. */
function nameOf({ models }: ExplainContext, { label, modelId }: Candidate): string {
  return models.length > 1 ? `${label} (${modelId})` : label;
}

function orderReason(explained: ExplainContext, candidate: Candidate, at: number): Bilingual {
  const health = healthText(explained, candidate);
  const position = positionText(explained, candidate, at);
  const price = priceText(candidate);
  return say(`${health.ko}. ${position.ko}. ${price.ko}`, `${health.en}, and ${position.en}; ${price.en}`);
}

/** What determines its position. */
function positionText(explained: ExplainContext, candidate: Candidate, at: number): Bilingual {
  const { request, models, planned, given } = explained;
  const { chain } = planned;
  if (chain.length === 1)
    return say('처리할 수 있는 후보가 하나뿐입니다', 'it is the only eligible candidate');
  const before = chain[at - 1];
  const isFirstOfModel = before?.modelId !== candidate.modelId;
  switch (planned.orderedBy) {
    case 'order':
      return request.provider.order !== null && placeIn(request.provider.order, candidate) !== null
        ? say('`provider.order`에 적힌 순서입니다', '`provider.order` puts it here')
        : say(
            '`provider.order`에 없어 대체 후보입니다',
            '`provider.order` does not name it, so it is a fallback',
          );
    case 'sort':
      return sortText(explained, candidate, at);
    default: {
      if (at > 0 && isFirstOfModel)
        return say(
          `요청에서 ${before?.modelId ?? ''} 다음에 적힌 모델입니다`,
          `its model comes after ${before?.modelId ?? ''}`,
        );
      const all = models.find(({ id }) => id === candidate.modelId)?.candidates ?? [];
      const able = chain.filter((one) => one.modelId === candidate.modelId);
      const share = sharesOf(all, able).get(candidate) ?? 1;
      if (share < 1) {
        const draws = given.isSession
          ? say('이 세션에서는 순서를 유지합니다', 'this session keeps its order')
          : say('요청마다 추첨합니다', 'drawn for each request');
        return say(
          `가중치와 가격에 따라 요청의 ${number(share * 100)}%에서 첫 번째가 됩니다(${draws.ko})`,
          `by weight and price it comes first for ${percent(share)} of requests (${draws.en})`,
        );
      }
      return at === 0 || isFirstOfModel
        ? say('설정 파일에서 첫 번째입니다', 'it is first in the configuration')
        : say('설정 파일에서 다음 순서입니다', 'it is next in the configuration');
    }
  }
}

function sortText({ request, given }: ExplainContext, { label }: Candidate, at: number): Bilingual {
  const seen = given.health.of(label);
  const by = request.provider.sort ?? 'price';
  if (by === 'price')
    return at === 0
      ? say('가장 저렴합니다', 'it is the cheapest')
      : say('다음으로 저렴합니다', 'it is the next by price');
  const median = by === 'throughput' ? seen.throughput(halfAnHourMs)?.p50 : seen.latency(halfAnHourMs)?.p50;
  if (median === undefined)
    return say('최근 30분 동안 속도를 측정하지 못했습니다', `its ${by} was not measured in the last 30 min`);
  const figure = by === 'throughput' ? speedOf(median) : firstTokenOf(median);
  if (at > 0) return say(`다음으로 빠릅니다(${figure.ko})`, `it is the next by ${by} (${figure.en})`);
  return say(
    `가장 빠릅니다(${figure.ko})`,
    `it is the ${by === 'throughput' ? 'fastest' : 'quickest'} (${figure.en})`,
  );
}

function speedOf(tokens: number): Bilingual {
  return say(`초당 ${number(tokens)}토큰`, `${number(tokens)} tokens a second`);
}

function firstTokenOf(ms: number): Bilingual {
  return say(`첫 토큰까지 ${number(ms)}ms`, `${number(ms)} ms to the first token`);
}

function healthText({ given }: ExplainContext, { label }: Candidate): Bilingual {
  if (given.knowledge === 'none') return say('상태를 알 수 없습니다', 'its health is unknown');
  const status = given.health.statusOf(label);
  const circuit = circuitText(status);
  if (status.circuit === 'due')
    return say(`${circuit.ko}. 다음 요청으로 확인합니다`, `${circuit.en}, and the next request probes it`);
  if (status.circuit !== 'closed') return circuit;
  if (status.coolingMs > 0) return coolingText(status);
  const seen = given.health.of(label);
  const uptime = seen.uptime(halfAnHourMs);
  if (uptime === null)
    return say(
      '알려진 문제가 없습니다(30분 동안 시도 없음)',
      'it has no known problem (no attempt in 30 min)',
    );
  const attempts = number(seen.attempts(halfAnHourMs));
  const figures = say(
    `30분 동안 ${attempts}회 중 ${number(uptime)}% 성공`,
    `${number(uptime)} % of ${attempts} in 30 min`,
  );
  if (uptime >= 80) return say(`정상입니다(${figures.ko})`, `it is healthy (${figures.en})`);
  if (status.failures === 0) return say(`다시 정상입니다(${figures.ko})`, `it is up again (${figures.en})`);
  const last = status.failures === 1 ? 'attempt' : `${number(status.failures)} attempts`;
  return say(
    `최근 ${number(status.failures)}회 연속 실패했습니다(${figures.ko})`,
    `its last ${last} failed (${figures.en})`,
  );
}

/** Why it was demoted. */
function demotedReason(
  { request, given }: ExplainContext,
  candidate: Candidate,
  reason: DemotionReason,
): Bilingual {
  const status = given.health.statusOf(candidate.label);
  switch (reason) {
    case 'circuit_open': {
      const circuit = circuitText(status);
      return status.circuit === 'probing'
        ? say(
            `${circuit.ko}. 지금 요청 하나로 확인하고 있습니다`,
            `${circuit.en}, and a request probes it right now`,
          )
        : say(
            `${circuit.ko}. ${secondsOf(status.probeInMs)}초 후에 확인합니다`,
            `${circuit.en}, probe in ${secondsOf(status.probeInMs)} s`,
          );
    }
    case 'cooling_down':
      return coolingText(status);
    case 'too_slow': {
      const speed = speedText(given, candidate);
      return say(
        `요청이 선호하는 속도보다 느립니다: ${speed.ko}`,
        `it is slower than the request prefers: ${speed.en}`,
      );
    }
    case 'weight_zero':
      return say('가중치가 0이어서 마지막에 시도합니다', 'its weight is 0: it is tried last');
    case 'unsteady':
      return say(
        '최근 30초 동안 실패가 성공과 같거나 더 많았습니다',
        'in the last 30 s it failed at least as often as it succeeded',
      );
    case 'max_tokens_above_cap': {
      const [cap, wanted] = [number(candidate.maxCompletionTokens), number(request.maxTokens ?? 0)];
      return say(
        `최대 ${cap}토큰을 생성하는데 ${wanted}토큰을 요청했습니다`,
        `it generates at most ${cap} tokens, and ${wanted} are requested`,
      );
    }
    case 'parameters_not_supported':
      return say(
        '응답에 영향을 주는 파라미터를 무시합니다',
        'it ignores a parameter that changes the response',
      );
  }
}

function rejectedReason({ given }: ExplainContext, candidate: Candidate, why: RejectReason): Bilingual {
  if (why === 'context_too_small') {
    const [length, prompt] = [number(candidate.contextLength), number(given.promptTokens)];
    return say(
      `컨텍스트 길이(${length})가 프롬프트의 토큰 수(${prompt})보다 작습니다`,
      `its context of ${length} is smaller than the prompt's ${prompt} tokens`,
    );
  }
  if (why !== 'above_max_price') return rejectReasons[why];
  const price = priceText(candidate);
  return say(
    `\`provider.max_price\`보다 비쌉니다: ${price.ko}`,
    `${price.en} is more than \`provider.max_price\` allows`,
  );
}

function circuitText({ openedAtMs, failures }: HealthStatus): Bilingual {
  const since = openedAtMs === null ? null : `${seoulTime(openedAtMs)} KST`;
  return say(
    `차단되었습니다(${since === null ? '' : `${since}부터, `}연속 ${number(failures)}회 실패)`,
    `its circuit is open${since === null ? '' : ` since ${since}`} (${number(failures)} failures in a row)`,
  );
}

function coolingText({ coolingMs }: HealthStatus): Bilingual {
  const left = secondsOf(coolingMs);
  return say(
    `제공자의 요청 제한에 걸려 ${left}초 동안 보내지 않습니다`,
    `it is rate-limited, ${left} s of its cool-down are left`,
  );
}

function speedText({ health }: RoutingContext, { label }: Candidate): Bilingual {
  const seen = health.of(label);
  const throughput = seen.throughput(halfAnHourMs)?.p50;
  const latency = seen.latency(halfAnHourMs)?.p50;
  const figures = [
    throughput === undefined ? null : speedOf(throughput),
    latency === undefined ? null : firstTokenOf(latency),
  ].filter((part) => part !== null);
  return say(
    `${figures.map(({ ko }) => ko).join(', ')}(중앙값)`,
    `${figures.map(({ en }) => en).join(', ')} (median)`,
  );
}

function priceText({ price }: Candidate): Bilingual {
  const [prompt, completion] = [perThousand(price.prompt), perThousand(price.completion)];
  return say(
    `토큰 1,000개당 입력 ${prompt}원, 출력 ${completion}원`,
    `₩${prompt} + ₩${completion} per 1,000 tokens`,
  );
}

function perThousand(rate: Rate): string {
  return withSeparators(rateToDecimal(rateOfPico(rate * 1000n)));
}

function ordinal(place: number): string {
  const named = ['is first', 'is second', 'is third', 'is fourth', 'is fifth', 'is sixth'];
  return named[place - 1] ?? `is number ${place}`;
}

function number(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : 1 });
}

function percent(share: number): string {
  return `${number(share * 100)} %`;
}

function secondsOf(ms: number): string {
  return number(Math.ceil(ms / 1000));
}

/** The time of day in Seoul. */
function seoulTime(epochMs: number): string {
  return isoOf(epochMs + 9 * 3_600_000).slice(11, 19);
}
