import { Client } from 'pg';
import { until } from '../../harness/until.ts';
import { expectedRefusals } from '../audit.ts';
import { startLoad } from '../load.ts';
import { postmasterOf } from '../naru-process.ts';
import { type GoalRun, type Outcome, outcome } from './goal.ts';
import { pause, type Stage, settleAndAudit, startStage, statusOf } from './stage.ts';

/** Something that happens to a database. */
export interface DatabaseFault {
  readonly name: string;
  readonly on: 'embedded' | 'cutter';
  readonly holdMs: number;
  /** Whether `/readyz` must report it meanwhile; null: either. */
  readonly unready: boolean | null;
  /** Whether requests must succeed meanwhile. */
  readonly serves: boolean;
  /** Whether a log line reports it: otherwise the fault did not happen at all. */
  readonly proof?: () => boolean;
  begin(stage: Stage): Promise<() => Promise<void>>;
}

const outage = (stage: Stage): Promise<() => Promise<void>> => {
  stage.cutter?.down();
  return Promise.resolve(async () => stage.cutter?.up());
};

async function fillConnections(stage: Stage): Promise<() => Promise<void>> {
  const hogs: Client[] = [];
  let over = false;
  const grab = async (): Promise<void> => {
    const hog = new Client({ ...stage.database.address, application_name: 'hog' });
    hog.on('error', () => {});
    hogs.push(hog);
    await hog.connect();
  };
  const [admin] = [new Client({ ...stage.database.address, application_name: 'hog' })];
  await admin.connect();
  const hogging = (async () => {
    while (!over) await Promise.all(Array.from({ length: 8 }, () => grab().catch(() => pause(5))));
  })();
  await until(
    'no connection is left',
    async () => {
      await admin.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'naru'",
      );
      const { rows } = await admin.query(
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'hog'",
      );
      return rows[0].n >= 99;
    },
    20_000,
  );
  await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'naru'");
  return async () => {
    over = true;
    await hogging;
    await Promise.all([...hogs, admin].map((hog) => hog.end().catch(() => {})));
  };
}

async function readOnly(stage: Stage): Promise<() => Promise<void>> {
  const admin = new Client(stage.database.address);
  await admin.connect();
  await admin.query('SET default_transaction_read_only = off');
  await admin.query('ALTER SYSTEM SET default_transaction_read_only = on');
  await admin.query('SELECT pg_reload_conf()');
  return async () => {
    await admin.query('ALTER SYSTEM RESET default_transaction_read_only');
    await admin.query('SELECT pg_reload_conf()');
    await admin.end();
  };
}

async function restart(stage: Stage): Promise<() => Promise<void>> {
  const pid = postmasterOf(stage.site);
  if (pid === null) throw new Error('no PostgreSQL');
  process.kill(pid, 'SIGKILL');
  return () =>
    until('another runs', () => ![null, pid].includes(postmasterOf(stage.site)), 30_000).then(() => {});
}

const slow =
  (ms: number) =>
  (stage: Stage): Promise<() => Promise<void>> => {
    stage.cutter?.delay(ms);
    return Promise.resolve(async () => stage.cutter?.up());
  };

const faults: readonly DatabaseFault[] = [
  { name: 'restart (kill -9)', on: 'embedded', holdMs: 0, unready: null, serves: false, begin: restart },
  { name: 'outage', on: 'cutter', holdMs: 30_000, unready: true, serves: false, begin: outage },
  {
    name: 'black hole',
    on: 'cutter',
    holdMs: 30_000,
    unready: true,
    serves: false,
    begin: async ({ cutter }) => {
      cutter?.hole();
      return async () => cutter?.up();
    },
  },
  {
    name: 'too many connections',
    on: 'embedded',
    holdMs: 10_000,
    unready: true,
    serves: false,
    begin: fillConnections,
  },
  { name: 'read-only', on: 'embedded', holdMs: 10_000, unready: null, serves: true, begin: readOnly },
  {
    name: 'responds 300 ms late',
    on: 'cutter',
    holdMs: 10_000,
    unready: null,
    serves: true,
    begin: slow(300),
  },
  {
    name: 'responds 2 s late',
    on: 'cutter',
    holdMs: 10_000,
    unready: null,
    serves: false,
    begin: slow(2_000),
  },
];

/**
 * What may become of a database, each under load: `500 server` at worst (spec:errors/11.1), and
 * recovery by itself.
 */
export async function databaseFaults(run: GoalRun): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const fault of faults) {
    const stage = await startStage({ database: fault.on, launched: fault.on === 'embedded' });
    try {
      outcomes.push(await judge(stage, fault, run));
    } finally {
      await stage.end();
    }
    run.print(`... ${fault.name}`);
  }
  return outcomes;
}

/** Applies a fault under load, and returns the outcome. */
export async function judge(stage: Stage, fault: DatabaseFault, run: GoalRun): Promise<Outcome> {
  const { naru, payers } = stage;
  const [{ keys: [first] = [] } = {}] = payers;
  const load = startLoad(naru.url, payers, { clients: 16, seed: run.seed, name: 'fault', mayWait: true });
  const good = (): number => load.sights.filter((sight) => sight.kind === 'success').length;
  await until('it serves', () => good() > 50, 30_000);
  const against: string[] = [];
  const holdMs = run.quick ? Math.min(fault.holdMs, 6_000) : fault.holdMs;
  const heal = await fault.begin(stage);
  const begun = load.sights.length;
  const begunGood = good();
  const beganMs = performance.now();
  let reported = fault.unready !== true;
  const origin = naru.url.slice(0, -'/api/v1'.length);
  while (performance.now() - beganMs < holdMs) {
    if ((await statusOf(`${origin}/readyz`)) === 503) reported = true;
    for (const path of ['/models', '/providers']) {
      const status = await statusOf(`${naru.url}${path}`, first?.key);
      if (status !== 200) against.push(`GET ${path} meanwhile: ${status}`);
    }
    const key = await statusOf(`${naru.url}/keys/unknown`, 'sk-naru-v1-unknown');
    if (fault.unready === true && reported && ![401, 500, 0].includes(key))
      against.push(`an unknown key: ${key}`);
    await pause(100);
  }
  const meanwhile = good() - begunGood;
  if (fault.proof?.() === false) against.push('the fault had no effect: no log line reports it');
  if (!reported) against.push('/readyz never reported it');
  if (fault.serves && meanwhile < 20) against.push(`${meanwhile} responses meanwhile`);
  await heal();
  const healedMs = performance.now();
  const at = good();
  await until('it serves again', () => good() > at + 20, 60_000).catch((error) =>
    against.push(String(error)),
  );
  const backMs = performance.now() - healedMs;
  await until('it is ready', async () => (await statusOf(`${origin}/readyz`)) === 200, 20_000).catch(
    (error) => against.push(String(error)),
  );
  await load.stop();
  const auditMs = performance.now();
  against.push(...(await settleAndAudit(stage, load.sights)));
  const during = load.sights.slice(begun);
  const wrong = during.filter(
    (sight) =>
      sight.kind === 'refused' &&
      !expectedRefusals.has(String(sight.errorType)) &&
      sight.errorType !== 'server',
  );
  for (const sight of wrong) against.push(`refused with ${sight.status} ${sight.errorType}`);
  if (stage.site.log.join('').includes('settlement_quarantined'))
    against.push('a settlement was quarantined');
  const refused = during.filter((sight) => sight.errorType === 'server').length;
  const found = `${meanwhile} responses and ${refused} × 500 server meanwhile, back ${seconds(backMs)} after, ledger exact ${seconds(performance.now() - auditMs)} after the last response`;
  const wanted = `${holdMs === 0 ? '' : `${holdMs / 1000} s: `}${fault.serves ? 'responses go on' : '500 server at worst'}, /models and /providers from memory, recovery by itself, exact`;
  return outcome(`database: ${fault.name}`, wanted, found, against);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
