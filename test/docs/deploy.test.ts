import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import type { Config } from '../../src/config/config.ts';
import { configOf } from '../config/load-text.ts';

/* The manifests of deploy/k8s: they parse, they have what Kubernetes requires, and their names lead to one another. */

// biome-ignore lint/suspicious/noExplicitAny: a manifest is whatever stands in its file.
type Manifest = any;

const folder = join(import.meta.dirname, '../../deploy/k8s');

/** Every manifest of a file; a duplicate key is a fault. */
function manifests(file: string): readonly Manifest[] {
  return parseAllDocuments(readFileSync(join(folder, file), 'utf8'), { uniqueKeys: true }).map((document) => {
    assert.deepEqual([document.errors, document.warnings], [[], []], file);
    return document.toJS();
  });
}

const all = ['naru.yaml', 'engine.yaml', 'keda.yaml'].flatMap(manifests);
const only = (kind: string, name: string): Manifest => {
  const found = all.filter((one) => one.kind === kind && one.metadata.name === name);
  assert.equal(found.length, 1, `${kind} ${name}`);
  return found[0];
};
const configText: string = only('ConfigMap', 'naru').data['naru.yaml'];
const config: Config = configOf(configText, { env: { KUBERNETES_SERVICE_HOST: '10.0.0.1' } });
const [slot] = config.slots;
const driver = slot?.driver.kind === 'k8s-scale' ? slot.driver : assert.fail('the slot is no Deployment');

const members: Readonly<Record<string, readonly string[]>> = {
  Namespace: [],
  ServiceAccount: [],
  Role: ['rules'],
  RoleBinding: ['roleRef', 'subjects'],
  ConfigMap: ['data'],
  PersistentVolumeClaim: ['spec.accessModes', 'spec.resources.requests.storage'],
  Deployment: ['spec.selector.matchLabels', 'spec.template.metadata.labels', 'spec.template.spec.containers'],
  Service: ['spec.selector', 'spec.ports'],
  NetworkPolicy: ['spec.podSelector', 'spec.policyTypes', 'spec.ingress'],
  ScaledObject: ['spec.scaleTargetRef.name', 'spec.triggers'],
  ServiceMonitor: ['spec.selector', 'spec.endpoints'],
};

test('every manifest has what its kind requires, a name and a namespace', () => {
  assert.ok(all.length > 12);
  for (const one of all) {
    const what = `${one.kind} ${one.metadata?.name}`;
    assert.match(one.apiVersion, /^[a-z0-9./]+$/, what);
    assert.match(one.metadata.name, /^[a-z0-9-]+$/, what);
    if (one.kind !== 'Namespace') assert.equal(one.metadata.namespace, 'naru', what);
    const wanted = members[one.kind] ?? assert.fail(`nothing is known of a ${one.kind}`);
    for (const path of wanted) {
      const value = path.split('.').reduce((inside, name) => inside?.[name], one);
      assert.ok(value !== undefined && value !== null, `${what} lacks ${path}`);
    }
  }
});

test('pods are found by their labels, volumes and ports by their names', () => {
  for (const { spec, metadata } of all.filter((one) => one.kind === 'Deployment')) {
    const { containers, volumes } = spec.template.spec;
    assert.deepEqual(spec.selector.matchLabels, spec.template.metadata.labels, metadata.name);
    const service = only('Service', metadata.name);
    assert.deepEqual(service.spec.selector, spec.template.metadata.labels);
    const ports = containers.flatMap((one: Manifest) => one.ports.map((port: Manifest) => port.name));
    for (const { targetPort } of service.spec.ports) assert.ok(ports.includes(targetPort), targetPort);
    const names = volumes.map((volume: Manifest) => volume.name);
    for (const container of containers) {
      for (const mount of container.volumeMounts) assert.ok(names.includes(mount.name), mount.name);
      assert.match(container.image, /:[\w.-]+$/, 'an image without a version is another one tomorrow');
      for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'])
        if (container[probe] !== undefined) assert.ok(ports.includes(container[probe].httpGet.port));
    }
    for (const volume of volumes) {
      if (volume.configMap !== undefined) only('ConfigMap', volume.configMap.name);
      if (volume.persistentVolumeClaim !== undefined)
        only('PersistentVolumeClaim', volume.persistentVolumeClaim.claimName);
    }
  }
});

test("Naru may read and change only the scale of its slot's engine", () => {
  const roles = all.filter((one) => /Role$/.test(one.kind));
  assert.equal(roles.length, 1);
  const [role] = roles;
  assert.deepEqual(role.rules, [
    {
      apiGroups: ['apps'],
      resources: ['deployments/scale'],
      resourceNames: [driver.k8s.deployment],
      verbs: ['get', 'patch'],
    },
  ]);
  const bindings = all.filter((one) => /RoleBinding$/.test(one.kind));
  assert.equal(bindings.length, 1);
  const { roleRef, subjects } = bindings[0];
  assert.deepEqual(roleRef, {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'Role',
    name: role.metadata.name,
  });
  const { serviceAccountName } = only('Deployment', 'naru').spec.template.spec;
  assert.deepEqual(subjects, [{ kind: 'ServiceAccount', name: serviceAccountName, namespace: 'naru' }]);
  only('ServiceAccount', serviceAccountName);
  // The engine has no credential at all.
  assert.equal(only('Deployment', 'engine').spec.template.spec.automountServiceAccountToken, false);
});

test("the slot names the engine's Deployment, Service and health path", () => {
  const engine = only('Deployment', driver.k8s.deployment);
  assert.equal(engine.metadata.namespace, driver.k8s.namespace);
  assert.equal(engine.spec.replicas, 0);
  const service = only('Service', 'engine');
  const { hostname, port } = new URL(driver.baseUrl);
  assert.equal(hostname, `${service.metadata.name}.${service.metadata.namespace}.svc`);
  assert.deepEqual(
    service.spec.ports.map((one: Manifest) => String(one.port)),
    [port],
  );
  assert.equal(engine.spec.template.spec.containers[0].readinessProbe.httpGet.path, driver.healthPath);
  assert.equal(driver.k8s.tokenFile, '/var/run/secrets/kubernetes.io/serviceaccount/token');
});

test("the probes of Naru's pod use Naru's paths, its grace exceeds the drain, and it never runs twice", () => {
  const { spec } = only('Deployment', 'naru');
  const [naru] = spec.template.spec.containers;
  assert.equal(naru.ports[0].containerPort, config.listen.port);
  assert.deepEqual(
    [naru.startupProbe, naru.readinessProbe, naru.livenessProbe].map((probe) => probe.httpGet.path),
    ['/healthz', '/readyz', '/healthz'],
  );
  assert.ok(spec.template.spec.terminationGracePeriodSeconds * 1000 > config.limits.drainTimeoutMs);
  assert.deepEqual([spec.replicas, spec.strategy.type], [1, 'Recreate']);
});

test("systemd's unit stops Naru alone, gives it longer than its drain, and restarts it after a failure", () => {
  const unit = readFileSync(join(import.meta.dirname, '../../deploy/naru.service'), 'utf8');
  const value = (name: string): string | undefined => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1];
  assert.match(value('ExecStart') ?? '', /\/bin\/naru up --config \S+ --data-dir \/var\/lib\/naru$/);
  assert.deepEqual([value('KillMode'), value('Restart')], ['mixed', 'on-failure']);
  assert.ok(Number(value('TimeoutStopSec')) * 1000 > config.limits.drainTimeoutMs);
});

test("KEDA scales the same engine by an existing metric, and waits longer than the slot's idle time", () => {
  const { spec } = only('ScaledObject', 'engine');
  assert.equal(spec.scaleTargetRef.name, driver.k8s.deployment);
  assert.equal(spec.minReplicaCount, 0);
  assert.ok(spec.cooldownPeriod * 1000 > (slot?.idleStopMs ?? Infinity));
  const [{ type, metadata }] = spec.triggers;
  assert.equal(type, 'prometheus');
  const named = [...metadata.query.matchAll(/(\w+)\{([^}]*)\}/g)];
  assert.deepEqual(
    named.map(([, metric]) => metric),
    ['naru_slot_demand', 'naru_slot_state'],
  );
  for (const [, , labels] of named) assert.match(labels, new RegExp(`slot="${slot?.name}"`));
  const source = readFileSync(join(import.meta.dirname, '../../src/slots/metrics.ts'), 'utf8');
  for (const [, metric] of named) assert.ok(source.includes(`'${metric}'`), metric);
  const [endpoint] = only('ServiceMonitor', 'naru').spec.endpoints;
  const ports = only('Service', 'naru').spec.ports.map((port: Manifest) => port.name);
  assert.ok(ports.includes(endpoint.port));
});

test('the slot that KEDA scales is valid', () => {
  const text = parse(configText);
  delete text.slots[0].k8s.replicas;
  text.slots[0].k8s.manage = false;
  const [unmanaged] = configOf(JSON.stringify(text)).slots;
  assert.equal(unmanaged?.driver.kind === 'k8s-scale' && unmanaged.driver.k8s.manage, false);
});
