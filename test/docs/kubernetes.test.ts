/** The manifests of deploy/k8s against the schemas of the Kubernetes API, and the nodes of nodes.yaml against Naru. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { configOf } from '../config/load-text.ts';
import { parseCommand } from './parse-command.ts';

// biome-ignore lint/suspicious/noExplicitAny: a manifest is whatever stands in its file.
type Manifest = any;
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
}

const folder = join(import.meta.dirname, '../../deploy/k8s');
const { kinds, definitions } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'kubernetes-schemas/kubernetes-1.34.json'), 'utf8'),
) as {
  readonly kinds: Readonly<Record<string, string>>;
  readonly definitions: Readonly<Record<string, Schema>>;
};
/** Kinds of other projects, which test/docs/deploy.test.ts checks. */
const foreignKinds = ['keda.sh/v1alpha1/ScaledObject', 'monitoring.coreos.com/v1/ServiceMonitor'];

const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
const manifestsOf = (file: string): readonly Manifest[] =>
  parseAllDocuments(readFileSync(join(folder, file), 'utf8'), { uniqueKeys: true }).map((document) => {
    assert.deepEqual([document.errors, document.warnings], [[], []], file);
    return document.toJS();
  });

/** Every fault of a value, each with its path. */
function faultsOf(value: unknown, schema: Schema, path: string): readonly string[] {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? '';
    return faultsOf(value, definitions[name] ?? assert.fail(`no definition of ${name}`), path);
  }
  if (schema.oneOf !== undefined) {
    const fits = schema.oneOf.filter((one) => faultsOf(value, one, path).length === 0);
    return fits.length === 1 ? [] : [`${path} fits ${fits.length} of ${schema.oneOf.length} forms`];
  }
  const type = typeOf(value);
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length > 0 && !types.includes(type) && !(type === 'integer' && types.includes('number')))
    return [`${path} is ${type} instead of ${types.join(' or ')}`];
  if (schema.enum?.includes(value) === false) return [`${path} is ${String(value)}`];
  if (Array.isArray(value))
    return value.flatMap((one, n) => faultsOf(one, schema.items ?? {}, `${path}[${n}]`));
  return type === 'object' ? faultsInside(value as Readonly<Record<string, unknown>>, schema, path) : [];
}

function faultsInside(value: Readonly<Record<string, unknown>>, schema: Schema, path: string) {
  const missing = (schema.required ?? []).filter((name) => value[name] === undefined);
  return [
    ...missing.map((name) => `${path}.${name} is missing`),
    ...Object.entries(value).flatMap(([name, inner]) => {
      const own = schema.properties?.[name] ?? schema.additionalProperties;
      if (own === false) return [`${path}.${name} is unknown`];
      return faultsOf(inner, typeof own === 'object' ? own : {}, `${path}.${name}`);
    }),
  ];
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

const faultsOfManifest = (one: Manifest): readonly string[] => {
  const name = kinds[`${one.apiVersion}/${one.kind}`];
  return name === undefined
    ? [`${one.apiVersion}/${one.kind} has no schema`]
    : faultsOf(one, { $ref: name }, one.kind);
};

const all = manifestsOf('nodes.yaml');
const only = (kind: string, name: string, among = all): Manifest => {
  const found = among.filter((one) => one.kind === kind && one.metadata.name === name);
  assert.equal(found.length, 1, `${kind} ${name}`);
  return found[0];
};
const set = only('StatefulSet', 'naru');
const pod = set.spec.template.spec;
const [naru] = pod.containers;
const databaseUrl = 'postgres://naru:secret@db.example/naru';
const config = configOf(only('ConfigMap', 'naru').data['naru.yaml'], {
  env: { NARU_DATABASE_URL: databaseUrl },
});

test('the API of Kubernetes 1.34 accepts every manifest', () => {
  assert.ok(files.length >= 5);
  for (const file of files)
    for (const one of manifestsOf(file)) {
      if (foreignKinds.includes(`${one.apiVersion}/${one.kind}`)) continue;
      assert.deepEqual(faultsOfManifest(one), [], `${file}: ${one.kind} ${one.metadata.name}`);
    }
});

test('a misspelt, a missing and a wrong member are faults', () => {
  const broken = structuredClone(set);
  broken.spec.replica = 3;
  broken.spec.replicas = 'three';
  delete broken.spec.selector;
  broken.spec.template.spec.containers[0].ports[0].containerPort = '8787';
  assert.deepEqual(faultsOfManifest(broken).toSorted(), [
    'StatefulSet.spec.replica is unknown',
    'StatefulSet.spec.replicas is string instead of integer or null',
    'StatefulSet.spec.selector is missing',
    'StatefulSet.spec.template.spec.containers[0].ports[0].containerPort is string instead of integer',
  ]);
});

test('a node stops within its grace: the wait for the Service and the drain of the server', () => {
  const waitMs = naru.lifecycle.preStop.sleep.seconds * 1000;
  assert.ok(waitMs >= 5_000);
  assert.ok(pod.terminationGracePeriodSeconds * 1000 > waitMs + config.limits.drainTimeoutMs);
  assert.deepEqual(
    [naru.startupProbe, naru.readinessProbe, naru.livenessProbe].map((probe) => probe.httpGet.path),
    ['/healthz', '/readyz', '/healthz'],
  );
  assert.equal(naru.ports[0].containerPort, config.listen.port);
  assert.deepEqual(set.spec.updateStrategy, { type: 'RollingUpdate' });
  const { maxUnavailable, selector } = only('PodDisruptionBudget', 'naru').spec;
  assert.equal(maxUnavailable, 1);
  assert.deepEqual(selector, set.spec.selector);
});

test('each node has a volume of its own that outlives its pod, and nothing else that it can write', async () => {
  const [claim, ...others] = set.spec.volumeClaimTemplates;
  assert.deepEqual(others, []);
  assert.deepEqual(claim.spec.accessModes, ['ReadWriteOncePod']);
  assert.deepEqual(set.spec.persistentVolumeClaimRetentionPolicy, {
    whenDeleted: 'Retain',
    whenScaled: 'Retain',
  });
  assert.equal(only('Service', set.spec.serviceName).spec.clusterIP, 'None');
  const writable = naru.volumeMounts.filter((mount: Manifest) => mount.readOnly !== true);
  assert.deepEqual(
    writable.map(({ name }: Manifest) => name),
    [claim.metadata.name, 'tmp'],
  );
  assert.equal(naru.args[naru.args.indexOf('--data-dir') + 1], writable[0].mountPath);
  assert.equal(naru.securityContext.readOnlyRootFilesystem, true);
  assert.equal(pod.securityContext.runAsNonRoot, true);
  assert.equal((await parseCommand([...naru.args, '--help'])).code, 0);
});

test('a command in a container uses the data directory and the configuration of its server', () => {
  const image = readFileSync(join(folder, '../Dockerfile'), 'utf8');
  const [, imageDataDir] = /^ENV .*\bNARU_DATA_DIR=(\S+)$/m.exec(image) ?? assert.fail('ENV');
  const servers = files
    .flatMap(manifestsOf)
    .filter(({ kind }) => ['Deployment', 'StatefulSet'].includes(kind))
    .flatMap(({ spec }): readonly Manifest[] => spec.template.spec.containers)
    .filter((container) => container.name === 'naru');
  assert.equal(servers.length, 2);
  for (const { args, env = [] } of servers) {
    const variables = new Map<string, string>([
      ['NARU_DATA_DIR', imageDataDir ?? ''],
      ...env.map(({ name, value }: Manifest) => [name, value]),
    ]);
    for (const [option, variable] of [
      ['--data-dir', 'NARU_DATA_DIR'],
      ['--config', 'NARU_CONFIG'],
    ] as const)
      assert.equal(variables.get(variable), args[args.indexOf(option) + 1], variable);
  }
});

test('the job that settles a lost journal mounts the volume of a node and runs an existing command', async () => {
  const { spec } = only('Job', 'recover-journal', manifestsOf('recover-journal.yaml')).spec.template;
  const [recover] = spec.containers;
  assert.equal((await parseCommand([...recover.args, '--help'])).code, 0);
  assert.equal((await parseCommand([...recover.args, '--no-such-option'])).code, 2);
  const [lost] = spec.volumes;
  const [claim] = set.spec.volumeClaimTemplates;
  const volumes = Array.from(
    { length: set.spec.replicas },
    (_, n) => `${claim.metadata.name}-${set.metadata.name}-${n}`,
  );
  assert.ok(volumes.includes(lost.persistentVolumeClaim.claimName));
  const [mount] = recover.volumeMounts;
  assert.deepEqual([mount.name, mount.mountPath], [lost.name, recover.args[2]]);
  assert.deepEqual([recover.image, recover.env], [naru.image, naru.env]);
});
