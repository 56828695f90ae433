import { spawn } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { SlotSettings } from '../../src/config/config.ts';
import type { Slots, SlotsOptions, SlotsSettings } from '../../src/slots/slots.ts';

/** How a scripted engine misbehaves; by default it serves at once and correctly. */
export interface EngineScript {
  /** Before it listens. */
  readonly delayMs?: number;
  /** The exit code with which it ends before it listens. */
  readonly crashAtStart?: number;
  readonly ignoreSigterm?: boolean;
  /** A child of the engine listens instead of it, and survives when the engine is killed. */
  readonly grandchild?: boolean;
  readonly spamMb?: number;
  /** Ends with code 0 in the middle of the n-th request. */
  readonly exitAfter?: number;
  readonly healthStatus?: number;
  /** Reports the health status only from the n-th probe on, 503 before. */
  readonly healthyFrom?: number;
  /** The model that `/v1/models` lists. */
  readonly lists?: string;
  /** Its response to sleep and wake-up requests; without it 404. */
  readonly sleepStatus?: number;
  /** Ends with code 3 before it listens, as often as this; a file counts. */
  readonly crashes?: { readonly file: string; readonly times: number };
  /** From the n-th request on it never responds. */
  readonly hangFrom?: number;
  /** Ends in the middle of the n-th streamed response. */
  readonly exitInStream?: number;
}

/** A delay that no test waits for. */
const neverMs = 60_000;
const tempDirs: string[] = [];
const here = fileURLToPath(import.meta.url);

/** A slot that runs a scripted engine. */
export function engineSlot(script: EngineScript = {}, more: Partial<SlotSettings> = {}): SlotSettings {
  return {
    name: 'local-a',
    driver: {
      kind: 'process',
      command: engineCommand(script),
      // Stripping the types of this file takes as long as the rest of its start.
      env: { PATH: process.env['PATH'] ?? '', NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' },
      cwd: tmpdir(),
    },
    variant: null,
    basePath: '/v1',
    model: null,
    apiKey: null,
    readyPath: '/health',
    startBudgetMs: 20_000,
    idleStopMs: 0,
    maxConcurrency: 1,
    gpus: [],
    vramMb: 0,
    replicas: 1,
    minResidentMs: 0,
    stallMs: 0,
    warmUpMs: 0,
    sleep: null,
    ...more,
  };
}

/**
 * The command of a scripted engine. Two engines that never serve are no Node, whose start takes
 * 0.1 s of processor time.
 */
export function engineCommand(script: EngineScript): readonly string[] {
  const [member, ...others] = Object.keys(script);
  if (member === 'delayMs' && others.length === 0 && (script.delayMs ?? 0) >= neverMs)
    return ['sh', '-c', `exec sleep ${(script.delayMs ?? 0) / 1000}`, 'engine', '{port}'];
  if (member === 'crashAtStart' && others.length === 0)
    return ['sh', '-c', `echo no such model >&2; exit ${script.crashAtStart}`, 'engine', '{port}'];
  return [process.execPath, here, 'engine', '{port}', JSON.stringify(script)];
}

/** A slot as `naru.yaml` has it. */
export interface SlotTree extends Readonly<Record<string, unknown>> {
  readonly name: string;
}

/** A slot with a scripted engine, as a member of `slots` in the configuration. */
export function configuredEngine(name: string, script: EngineScript = {}): SlotTree {
  return { name, command: engineCommand(script), cwd: tmpdir() };
}

/**
 * A folder that is removed when the tests of the file are over: hooks of one test run in order, and
 * the slots close last.
 */
export function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'naru-slots-'));
  if (tempDirs.length === 0)
    process.once('exit', () => {
      for (const each of tempDirs) rmSync(each, { recursive: true, force: true });
    });
  tempDirs.push(dir);
  return dir;
}

/** Options of the slots, and the rest of the configuration. */
export type MoreOptions = Partial<Omit<SlotsOptions, 'settings'>> & Partial<Omit<SlotsSettings, 'slots'>>;

/** The configuration with these slots. */
export function slotsOf(
  slots: SlotSettings | readonly SlotSettings[],
  { gpus = new Map(), coldWaitMs = 8000, drainMs = 30_000 }: Partial<SlotsSettings> = {},
): SlotsSettings {
  return { slots: [slots].flat(), gpus, coldWaitMs, drainMs };
}

/** Slots on the real machine, closed after the test. */
export async function openSlots(
  t: TestContext,
  settings: SlotSettings | readonly SlotSettings[],
  more: MoreOptions = {},
): Promise<Slots> {
  const slots = await makeSlots(settings, { dataDir: more.dataDir ?? tempDir(), ...more });
  t.after(() => slots.close());
  return slots;
}

async function makeSlots(
  settings: SlotSettings | readonly SlotSettings[],
  more: MoreOptions & { readonly dataDir: string },
): Promise<Slots> {
  const { createSlots } = await import('../../src/slots/slots.ts');
  const { createProcesses } = await import('../../src/slots/drivers/processes.ts');
  const { systemClock } = await import('../../src/time/clock.ts');
  const { silentLog } = await import('../../src/log/log.ts');
  return createSlots({
    settings: slotsOf(settings, more),
    clock: systemClock,
    log: silentLog,
    processes: createProcesses((pid, signal) => process.kill(pid, signal)),
    ...more,
  });
}

/** A Naru that has a lease and reports the process group that serves it, to be killed. */
async function beOwner(dataDir: string, script: EngineScript): Promise<void> {
  const slots = await makeSlots(engineSlot(script), { dataDir });
  await slots.acquire('local-a', { accountId: 1, signal: new AbortController().signal });
  process.stdout.write(`${JSON.stringify(slots.status('local-a'))}\n`);
}

function beEngine(port: number, script: EngineScript): void {
  if (script.ignoreSigterm) process.on('SIGTERM', () => {});
  if (script.crashes !== undefined) {
    appendFileSync(script.crashes.file, 'x');
    if (statSync(script.crashes.file).size <= script.crashes.times) process.exit(3);
  }
  if (script.grandchild) {
    const own = JSON.stringify({ ...script, grandchild: false, ignoreSigterm: true });
    spawn(process.execPath, [here, 'engine', String(port), own], { stdio: 'inherit' });
    setInterval(() => {}, 1000);
    return;
  }
  setTimeout(() => listen(port, script), script.delayMs ?? 0);
}

function listen(port: number, script: EngineScript): void {
  let probes = 0;
  let requests = 0;
  let streams = 0;
  createServer((request, response) => {
    if (requests >= (script.hangFrom ?? Infinity)) return;
    if (script.lists !== undefined && request.url === '/v1/models') {
      response.end(JSON.stringify({ data: [{ id: script.lists }] }));
      return;
    }
    if (request.url?.startsWith('/sleep') || request.url === '/wake_up') {
      response.writeHead(script.sleepStatus ?? 404).end();
      return;
    }
    if (request.url === '/health') {
      probes += 1;
      response.statusCode = probes < (script.healthyFrom ?? 0) ? 503 : (script.healthStatus ?? 200);
      response.end();
      return;
    }
    requests += 1;
    if (requests === script.exitAfter) process.stderr.write('that was the last one\n', () => process.exit(0));
    if (requests === script.exitAfter || requests >= (script.hangFrom ?? Infinity)) return;
    if (script.exitInStream !== undefined && request.url === '/v1/chat/completions') {
      streams += 1;
      chat(response, streams === script.exitInStream);
      return;
    }
    response.end(JSON.stringify({ pid: process.pid, requests }));
  }).listen(port, '127.0.0.1', () => spam(script.spamMb ?? 0));
}

/** A streamed response of two words; `breaks`: the engine ends after the first one. */
function chat(response: ServerResponse, breaks: boolean): void {
  const chunk = (delta: object, finish: string | null, more: object = {}): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(chunk({ role: 'assistant', content: 'one' }, null), () => {
    if (breaks) setTimeout(() => process.exit(0), 50);
  });
  if (breaks) return;
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  response.end(`${chunk({ content: ' two' }, 'stop', { usage })}data: [DONE]\n\n`);
}

/**
 * Writes as fast as the pipe accepts it, and reports on standard output when all of it is written.
 */
function spam(mb: number): void {
  if (mb === 0) return;
  const chunk = `${'x'.repeat(1023)}\n`.repeat(1024);
  process.stderr.write(chunk, () => (mb === 1 ? process.stdout.write('spam over\n') : spam(mb - 1)));
}

if (import.meta.main) {
  const [, , role, first = '', script = '{}'] = process.argv;
  // Not awaited: the runner loads test files, and what they import, without a pause.
  if (role === 'owner') void beOwner(first, JSON.parse(script));
  else beEngine(Number(first), JSON.parse(script));
}
