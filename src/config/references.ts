import { defaultPorts } from './default-ports.ts';
import type { Path } from './fault.ts';
import { addMetadataFaults, type KnownMetadata } from './model-metadata/faults.ts';
import { hint } from './nearest.ts';
import { addPriceFaults } from './price-faults.ts';
import { addProviderFaults } from './provider-faults.ts';
import type { Tree } from './read-yaml.ts';
import { quoted } from './schema-faults.ts';
import type { SourceMap } from './source-map.ts';
import { has, itemsOf, type Members, memberOf, membersOf, textOf } from './tree.ts';

/**
 * Reports faults between members of the file: duplicate names, unknown names, mutually exclusive
 * members. It reads the raw tree, whether the schema accepts it or not, so that every fault is
 * reported at once.
 */
export function addReferenceFaults(tree: Tree, sourceMap: SourceMap, known: KnownMetadata): void {
  const file = membersOf(tree);
  addPortFaults(file, sourceMap);
  const providers = addNames(file, 'providers', 'slug', sourceMap);
  const slots = addNames(file, 'slots', 'name', sourceMap);
  addNames(file, 'models', 'id', sourceMap);
  addNames(file, 'gpus', 'id', sourceMap);
  for (const [index, provider] of itemsOf(file, 'providers'))
    if (/^naru(?:\/|$)/i.test(textOf(provider, 'slug') ?? ''))
      sourceMap.add(['providers', index, 'slug'], 'the slug "naru" belongs to the slots: use another name');
  for (const [index, provider] of itemsOf(file, 'providers'))
    addProviderFaults(provider, ['providers', index], sourceMap);
  for (const [index, slot] of itemsOf(file, 'slots')) {
    addSlotFaults(slot, ['slots', index], sourceMap);
    addRoomFaults(slot, file, ['slots', index], sourceMap);
  }
  for (const [index, model] of itemsOf(file, 'models')) {
    const path = ['models', index];
    addMetadataFaults(model, path, sourceMap, known);
    addCompletionFault(model, model, path, sourceMap);
    if (['provider', 'slot'].some((way) => has(model, way))) {
      addUnknownName(model, 'provider', providers, path, sourceMap);
      addUnknownName(model, 'slot', slots, path, sourceMap);
    }
    const seen = new Map<string, number>();
    for (const [position, candidate] of itemsOf(model, 'candidates')) {
      const at = [...path, 'candidates', position];
      addCandidateFaults(candidate, at, providers, slots, sourceMap);
      addCompletionFault(candidate, model, at, sourceMap);
      addTwin(candidate, model, at, seen, sourceMap);
    }
  }
  addPriceFaults(file, sourceMap, known);
}

function addPortFaults(file: Members, sourceMap: SourceMap): void {
  const listen = textOf(membersOf(memberOf(file, 'listen')), 'port') ?? String(defaultPorts.listen);
  const admin = textOf(membersOf(memberOf(file, 'admin')), 'port') ?? String(defaultPorts.admin);
  if (Number(listen) !== Number(admin) || Number(listen) === 0) return;
  const path = has(membersOf(memberOf(file, 'admin')), 'port') ? ['admin', 'port'] : ['listen', 'port'];
  sourceMap.add(path, 'listen and admin have the same port');
}

/** The names of a list's items, each with the index of its first use; a second use is a fault. */
function addNames(file: Members, list: string, member: string, sourceMap: SourceMap): Map<string, number> {
  const names = new Map<string, number>();
  for (const [index, item] of itemsOf(file, list)) {
    const name = textOf(item, member);
    if (name === undefined || sourceMap.isUnknown([list, index, member])) continue;
    const first = names.get(name);
    if (first === undefined) names.set(name, index);
    else
      sourceMap.add(
        [list, index, member],
        `${list}[${first}] on line ${sourceMap.lineOf([list, first, member])} has the same ${member}`,
      );
  }
  return names;
}

/** The members that define an engine, and the driver of each. */
const enginesOf = { command: 'process', external: 'external', k8s: 'k8s-scale' } as const;

function addSlotFaults(slot: Members, path: Path, sourceMap: SourceMap): void {
  const ways = (['command', 'external', 'k8s'] as const).filter((way) => has(slot, way));
  const [way] = ways;
  if (way === undefined) sourceMap.add(path, 'needs one of command, external and k8s');
  else if (ways.length > 1) sourceMap.add(path, `needs only one of ${ways.join(' and ')}`);
  else if (textOf(slot, 'driver') !== undefined && textOf(slot, 'driver') !== enginesOf[way])
    sourceMap.add([...path, 'driver'], `is ${enginesOf[way]} for a slot with ${way}`);
  const isExternal = way !== undefined && way !== 'command';
  if (isExternal && ways.length === 1) {
    for (const name of ['env', 'cwd', 'ready_path', 'gpus', 'vram_mb', 'replicas', 'warm_up_ms', 'sleep']) {
      if (has(slot, name)) sourceMap.add([...path, name], `has no effect for a slot with ${way}`, 'name');
    }
  }
  addKubeFaults(membersOf(memberOf(slot, 'k8s')), [...path, 'k8s'], sourceMap);
  addGpuFaults(slot, path, sourceMap);
  const command = memberOf(slot, 'command');
  if (!Array.isArray(command) || isExternal) return;
  const message = [...command, ...Object.values(membersOf(memberOf(slot, 'env')))];
  const portOf = message.some((word) => typeof word === 'string' && word.includes('{port}'));
  if (!portOf)
    sourceMap.add(
      [...path, 'command'],
      'does not contain {port}, so the engine does not know where to listen',
    );
}

function addKubeFaults(k8s: Members, path: Path, sourceMap: SourceMap): void {
  if (has(k8s, 'token') && has(k8s, 'token_file'))
    sourceMap.add(path, 'needs only one of token and token_file');
  if (textOf(k8s, 'manage') !== 'false') return;
  for (const name of ['replicas', 'api_url', 'token', 'token_file', 'ca']) {
    if (has(k8s, name)) sourceMap.add([...path, name], 'has no effect where manage is false', 'name');
  }
}

function addGpuFaults(slot: Members, path: Path, sourceMap: SourceMap): void {
  const gpus = memberOf(slot, 'gpus') ?? [];
  const vram = textOf(slot, 'vram_mb');
  if (!Array.isArray(gpus)) return;
  if (vram !== undefined && Number(vram) > 0 && gpus.length === 0) {
    sourceMap.add([...path, 'vram_mb'], 'needs gpus: it is their memory');
  }
  gpus.forEach((gpu, i) => {
    if (gpus.indexOf(gpu) < i) sourceMap.add([...path, 'gpus', i], 'is in the list twice');
  });
}

/** A slot that can never fit would wait forever. */
function addRoomFaults(slot: Members, file: Members, path: Path, sourceMap: SourceMap): void {
  const own = memberOf(slot, 'gpus') ?? [];
  const vram = textOf(slot, 'vram_mb');
  if (!Array.isArray(own) || vram === undefined) return;
  for (const [index, gpu] of itemsOf(file, 'gpus')) {
    const id = textOf(gpu, 'id');
    const budget = textOf(gpu, 'vram_mb');
    if (id === undefined || budget === undefined || !own.includes(id) || !(Number(vram) > Number(budget)))
      continue;
    sourceMap.add([...path, 'vram_mb'], `is more than the vram_mb of gpus[${index}] (${budget})`);
  }
  const asleep = textOf(membersOf(memberOf(slot, 'sleep')), 'vram_mb');
  if (asleep !== undefined && Number(asleep) > Number(vram))
    sourceMap.add([...path, 'sleep', 'vram_mb'], `must not be above vram_mb (${vram})`);
}

function addCandidateFaults(
  candidate: Members,
  path: Path,
  providers: ReadonlyMap<string, number>,
  slots: ReadonlyMap<string, number>,
  sourceMap: SourceMap,
): void {
  const ways = ['slot', 'provider'].filter((way) => has(candidate, way));
  if (ways.length !== 1)
    sourceMap.add(path, `needs ${ways.length === 0 ? 'one of' : 'only one of'} slot and provider`);
  addUnknownName(candidate, 'provider', providers, path, sourceMap);
  addUnknownName(candidate, 'slot', slots, path, sourceMap);
  if (has(candidate, 'slot') && has(candidate, 'model')) {
    sourceMap.add([...path, 'model'], "has no effect with slot: the slot's own model is used", 'name');
  }
  if (textOf(candidate, 'zdr') === 'true' && textOf(candidate, 'data_collection') === 'true') {
    sourceMap.add(
      [...path, 'data_collection'],
      'contradicts zdr: data that is not retained cannot be collected',
    );
  }
}

function addUnknownName(
  candidate: Members,
  way: 'provider' | 'slot',
  known: ReadonlyMap<string, number>,
  path: Path,
  sourceMap: SourceMap,
): void {
  const name = textOf(candidate, way);
  if (name === undefined || known.has(name)) return;
  const at = [...path, way];
  const shown = sourceMap.isFromOutside(at) ? 'that' : JSON.stringify(name);
  const none = known.size === 0 ? `: the file has no ${way}s` : hint(name, known.keys());
  sourceMap.add(at, `no ${way} is called ${shown}${none}`);
}

function addTwin(
  candidate: Members,
  model: Members,
  path: Path,
  seen: Map<string, number>,
  sourceMap: SourceMap,
): void {
  const provider = textOf(candidate, 'provider');
  const upstreamModel = textOf(candidate, 'model') ?? textOf(model, 'id');
  // The key of its prices: a provider a/b with the model c would collide with a provider a with the
  // model b/c.
  const target =
    provider === undefined ? `slot/${textOf(candidate, 'slot')}` : `${provider}/${upstreamModel}`;
  const first = seen.get(target);
  if (first !== undefined) sourceMap.add(path, `is the same as candidates[${first}] of this model`);
  else if (has(candidate, 'slot') || provider !== undefined) seen.set(target, Number(path.at(-1)));
}

function addCompletionFault(owner: Members, model: Members, path: Path, sourceMap: SourceMap): void {
  const completion = textOf(owner, 'max_completion_tokens');
  const context = textOf(owner, 'context_length') ?? textOf(model, 'context_length');
  if (completion === undefined || context === undefined || !(Number(completion) > Number(context))) return;
  const at = [...path, 'max_completion_tokens'];
  sourceMap.add(at, `must not be above context_length (${context})${quoted(completion, at, sourceMap)}`);
}
