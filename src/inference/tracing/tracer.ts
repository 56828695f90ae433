import http from 'node:http';
import https from 'node:https';
import { ROOT_CONTEXT, type SpanContext, TraceFlags } from '@opentelemetry/api';
import { parseTraceParent, TraceState } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  RandomIdGenerator,
  SamplingDecision,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { TracingConfig } from '../../config/config.ts';
import { proxiesFor } from '../../http/client/proxy.ts';
import type { Log } from '../../log/log.ts';
import { type Clock, within } from '../../time/clock.ts';
import type { TraceContext } from '../../wire/request-context.ts';
import type { CallTrace, CallTracer, EndedCall } from './call-trace.ts';
import { spansOf } from './spans.ts';

/** What a tracer needs of the gateway. */
export interface TracerParts {
  readonly config: TracingConfig;
  /** Identifies this process among those that serve. */
  readonly instanceId: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Spans by what became of them; those that are not counted here were dropped or are waiting. */
export interface SpanCounts {
  made: number;
  exported: number;
  failed: number;
}

const exportTimeoutMs = 10_000;
const exportEveryMs = 2_000;
/** Some 2 kB each: while the collector is away, memory is bounded, and later spans are dropped. */
const maxQueuedSpans = 8_192;
/** How long a stopping process sends what is left. */
const closeWithinMs = 2_000;
/** A collector that is away is logged this often. */
const logEveryMs = 60_000;
/** Longer lists of vendors are dropped as a whole, as W3C Trace Context 3.3.1.5 permits. */
const maxStateLength = 512;

/** Sends the spans of calls to an OpenTelemetry collector (OTLP over HTTP, JSON). */
export class Tracer implements CallTracer {
  readonly counts: SpanCounts = { made: 0, exported: 0, failed: 0 };
  readonly #parts: TracerParts;
  readonly #ids = new RandomIdGenerator();
  readonly #sampler: TraceIdRatioBasedSampler;
  readonly #resource: Resource;
  readonly #processor: BatchSpanProcessor;
  #loggedMs = Number.NEGATIVE_INFINITY;

  constructor(parts: TracerParts) {
    this.#parts = parts;
    const { otlpUrl, headers, samplePercent } = parts.config;
    this.#sampler = new TraceIdRatioBasedSampler(samplePercent / 100);
    this.#resource = resourceFromAttributes({
      'service.name': 'naru',
      'service.instance.id': parts.instanceId,
    });
    const exporter = new OTLPTraceExporter({
      url: otlpUrl,
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()])),
      timeoutMillis: exportTimeoutMs,
      // Those of the process, which have its proxy.
      httpAgentOptions: (protocol) => {
        const { globalAgent, Agent } = protocol === 'https:' ? https : http;
        return proxiesFor(new URL(otlpUrl)) === null ? new Agent({ keepAlive: true }) : globalAgent;
      },
    });
    this.#processor = new BatchSpanProcessor({
      exporter: this.#counted(exporter),
      scheduledDelayMillis: exportEveryMs,
      exportTimeoutMillis: exportTimeoutMs,
      maxQueueSize: maxQueuedSpans,
    });
  }

  begin(incoming: TraceContext | null): CallTrace {
    const parent = incoming === null ? null : contextOf(incoming);
    const traceId = parent?.traceId ?? this.#ids.generateTraceId();
    return new Trace(parent, {
      isSampled: parent === null ? this.#samples(traceId) : (parent.traceFlags & TraceFlags.SAMPLED) !== 0,
      newContext: (traceFlags) => ({
        traceId,
        spanId: this.#ids.generateSpanId(),
        traceFlags,
        ...(parent?.traceState === undefined ? {} : { traceState: parent.traceState }),
      }),
      export: (call, contexts) => {
        for (const span of spansOf(call, contexts, this.#resource)) {
          this.counts.made += 1;
          this.#processor.onEnd(span);
        }
      },
    });
  }

  /** Sends what is left, for a bounded time. */
  async close(): Promise<void> {
    const closed = this.#processor.shutdown().catch(() => {});
    await within(this.#parts.clock, closeWithinMs, closed, undefined);
  }

  #samples(traceId: string): boolean {
    return this.#sampler.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
  }

  /** The exporter, with its results counted and its failures logged. */
  #counted(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans, resultCallback) =>
        exporter.export(spans, (result) => {
          if (result.error === undefined) this.counts.exported += spans.length;
          else {
            this.counts.failed += spans.length;
            this.#logFailure(result.error);
          }
          resultCallback(result);
        }),
      shutdown: () => exporter.shutdown(),
      forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    };
  }

  #logFailure(error: Error): void {
    const { clock, log } = this.#parts;
    const nowMs = clock.monotonic();
    if (nowMs - this.#loggedMs < logEveryMs) return;
    this.#loggedMs = nowMs;
    log.warn('trace_export_failed', { detail: error.message, failed_spans: this.counts.failed });
  }
}

/** What a trace needs of its tracer. */
interface TraceParts {
  readonly isSampled: boolean;
  readonly newContext: (traceFlags: TraceFlags) => SpanContext;
  readonly export: (call: EndedCall, contexts: Parameters<typeof spansOf>[1]) => void;
}

class Trace implements CallTrace {
  readonly #parent: SpanContext | null;
  readonly #parts: TraceParts;
  readonly #attempts = new Map<number, SpanContext>();

  constructor(parent: SpanContext | null, parts: TraceParts) {
    this.#parent = parent;
    this.#parts = parts;
  }

  headersOf(attempt: number): Readonly<Record<string, string>> {
    const { traceId, spanId, traceFlags, traceState } = this.#attempt(attempt);
    const flags = traceFlags.toString(16).padStart(2, '0');
    const traceparent = `00-${traceId}-${spanId}-${flags}`;
    return traceState === undefined ? { traceparent } : { traceparent, tracestate: traceState.serialize() };
  }

  end(call: EndedCall): void {
    if (!this.#parts.isSampled) return;
    this.#parts.export(call, {
      parent: this.#parent,
      call: this.#newContext(),
      attempt: (index) => this.#attempt(index),
      child: () => this.#newContext(),
    });
  }

  /** An engine may have its id before the attempt has ended. */
  #attempt(index: number): SpanContext {
    const known = this.#attempts.get(index);
    if (known !== undefined) return known;
    const context = this.#newContext();
    this.#attempts.set(index, context);
    return context;
  }

  #newContext(): SpanContext {
    return this.#parts.newContext(this.#parts.isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE);
  }
}

/** Null for a `traceparent` that is not valid: then the call begins its own trace. */
function contextOf({ traceparent, tracestate }: TraceContext): SpanContext | null {
  const context = parseTraceParent(traceparent);
  if (context === null) return null;
  const hasState = tracestate !== null && tracestate !== '' && tracestate.length <= maxStateLength;
  return {
    ...context,
    isRemote: true,
    ...(hasState ? { traceState: new TraceState(tracestate) } : {}),
  };
}
