import type { Path } from './fault.ts';
import { addFactFaults, type KnownFacts } from './model-metadata/faults.ts';
import { hint } from './nearest.ts';
import { addPriceFaults } from './price-faults.ts';
import { addProviderFaults } from './provider-faults.ts';
import type { Tree } from './read-yaml.ts';
import { quoted } from './schema-faults.ts';
import type { Places } from './source-map.ts';
import { has, itemsOf, type Members, memberOf, membersOf, textOf } from './tree.ts';

/**
 * Says what is wrong between the members of the file: names given twice, names of nothing, members that exclude each other.
 * It reads the tree as it stands, whether the schema accepts it or not, so that every fault is reported at once.
 */
export function addReferenceFaults(tree: Tree, places: Places, known: KnownFacts): void {
  const file = membersOf(tree);
  addPortFaults(file, places);
  const providers = addNames(file, 'providers', 'slug', places);
  const slots = addNames(file, 'slots', 'name', places);
  addNames(file, 'models', 'id', places);
  addNames(file, 'gpus', 'id', places);
  for (const [index, provider] of itemsOf(file, 'providers'))
    if (/^naru(?:\/|$)/i.test(textOf(provider, 'slug') ?? ''))
      places.add(['providers', index, 'slug'], 'the slug "naru" belongs to the slots: use another name');
  for (const [index, provider] of itemsOf(file, 'providers'))
    addProviderFaults(provider, ['providers', index], places);
  for (const [index, slot] of itemsOf(file, 'slots')) {
    addSlotFaults(slot, ['slots', index], places);
    addRoomFaults(slot, file, ['slots', index], places);
  }
  for (const [index, model] of itemsOf(file, 'models')) {
    const path = ['models', index];
    addFactFaults(model, path, places, known);
    addCompletionFault(model, model, path, places);
    if (['provider', 'slot'].some((way) => has(model, way))) {
      addUnknownName(model, 'provider', providers, path, places);
      addUnknownName(model, 'slot', slots, path, places);
    }
    const seen = new Map<string, number>();
    for (const [position, candidate] of itemsOf(model, 'candidates')) {
      const at = [...path, 'candidates', position];
      addCandidateFaults(candidate, at, providers, slots, places);
      addCompletionFault(candidate, model, at, places);
      addTwin(candidate, model, at, seen, places);
    }
  }
  addPriceFaults(file, places, known);
}

function addPortFaults(file: Members, places: Places): void {
  const listen = textOf(membersOf(memberOf(file, 'listen')), 'port') ?? '8787';
  const admin = textOf(membersOf(memberOf(file, 'admin')), 'port') ?? '8788';
  if (Number(listen) !== Number(admin) || Number(listen) === 0) return;
  const path = has(membersOf(memberOf(file, 'admin')), 'port') ? ['admin', 'port'] : ['listen', 'port'];
  places.add(path, 'listen and admin have the same port');
}

/** The names that the items of a list have, each with the index of its first bearer; a second bearer is a fault. */
function addNames(file: Members, list: string, member: string, places: Places): Map<string, number> {
  const names = new Map<string, number>();
  for (const [index, item] of itemsOf(file, list)) {
    const name = textOf(item, member);
    if (name === undefined || places.isUnknown([list, index, member])) continue;
    const first = names.get(name);
    if (first === undefined) names.set(name, index);
    else
      places.add(
        [list, index, member],
        `${list}[${first}] on line ${places.lineOf([list, first, member])} has the same ${member}`,
      );
  }
  return names;
}

/** What makes an engine, and the driver that it means. */
const enginesOf = { command: 'process', external: 'external', k8s: 'k8s-scale' } as const;

function addSlotFaults(slot: Members, path: Path, places: Places): void {
  const ways = (['command', 'external', 'k8s'] as const).filter((way) => has(slot, way));
  const [way] = ways;
  if (way === undefined) places.add(path, 'needs one of command, external and k8s');
  else if (ways.length > 1) places.add(path, `needs only one of ${ways.join(' and ')}`);
  else if (textOf(slot, 'driver') !== undefined && textOf(slot, 'driver') !== enginesOf[way])
    places.add([...path, 'driver'], `is ${enginesOf[way]} for a slot with ${way}`);
  const isExternal = way !== undefined && way !== 'command';
  if (isExternal && ways.length === 1) {
    for (const name of ['env', 'cwd', 'ready_path', 'gpus', 'vram_mb', 'replicas', 'warm_up_ms', 'sleep']) {
      if (has(slot, name)) places.add([...path, name], `means nothing for a slot with ${way}`, 'name');
    }
  }
  addKubeFaults(membersOf(memberOf(slot, 'k8s')), [...path, 'k8s'], places);
  addGpuFaults(slot, path, places);
  const command = memberOf(slot, 'command');
  if (!Array.isArray(command) || isExternal) return;
  const words = [...command, ...Object.values(membersOf(memberOf(slot, 'env')))];
  const saysPort = words.some((word) => typeof word === 'string' && word.includes('{port}'));
  if (!saysPort)
    places.add([...path, 'command'], 'never says {port}, so the engine cannot know where to listen');
}

function addKubeFaults(k8s: Members, path: Path, places: Places): void {
  if (has(k8s, 'token') && has(k8s, 'token_file')) places.add(path, 'needs only one of token and token_file');
  if (textOf(k8s, 'manage') !== 'false') return;
  for (const name of ['replicas', 'api_url', 'token', 'token_file', 'ca']) {
    if (has(k8s, name)) places.add([...path, name], 'means nothing where manage is false', 'name');
  }
}

function addGpuFaults(slot: Members, path: Path, places: Places): void {
  const gpus = memberOf(slot, 'gpus') ?? [];
  const vram = textOf(slot, 'vram_mb');
  if (!Array.isArray(gpus)) return;
  if (vram !== undefined && Number(vram) > 0 && gpus.length === 0) {
    places.add([...path, 'vram_mb'], 'needs gpus: it is their memory');
  }
  gpus.forEach((gpu, i) => {
    if (gpus.indexOf(gpu) < i) places.add([...path, 'gpus', i], 'is in the list twice');
  });
}

/** A slot for which there can never be room would wait for ever. */
function addRoomFaults(slot: Members, file: Members, path: Path, places: Places): void {
  const own = memberOf(slot, 'gpus') ?? [];
  const vram = textOf(slot, 'vram_mb');
  if (!Array.isArray(own) || vram === undefined) return;
  for (const [index, gpu] of itemsOf(file, 'gpus')) {
    const id = textOf(gpu, 'id');
    const budget = textOf(gpu, 'vram_mb');
    if (id === undefined || budget === undefined || !own.includes(id) || !(Number(vram) > Number(budget)))
      continue;
    places.add([...path, 'vram_mb'], `is more than gpus[${index}] may give (${budget})`);
  }
  const asleep = textOf(membersOf(memberOf(slot, 'sleep')), 'vram_mb');
  if (asleep !== undefined && Number(asleep) > Number(vram))
    places.add([...path, 'sleep', 'vram_mb'], `must not be above vram_mb (${vram})`);
}

function addCandidateFaults(
  candidate: Members,
  path: Path,
  providers: ReadonlyMap<string, number>,
  slots: ReadonlyMap<string, number>,
  places: Places,
): void {
  const ways = ['slot', 'provider'].filter((way) => has(candidate, way));
  if (ways.length !== 1)
    places.add(path, `needs ${ways.length === 0 ? 'one of' : 'only one of'} slot and provider`);
  addUnknownName(candidate, 'provider', providers, path, places);
  addUnknownName(candidate, 'slot', slots, path, places);
  if (has(candidate, 'slot') && has(candidate, 'model')) {
    places.add([...path, 'model'], "means nothing beside slot: the slot's own model does", 'name');
  }
  if (textOf(candidate, 'zdr') === 'true' && textOf(candidate, 'data_collection') === 'true') {
    places.add([...path, 'data_collection'], 'contradicts zdr: what is not retained cannot be collected');
  }
}

function addUnknownName(
  candidate: Members,
  way: 'provider' | 'slot',
  known: ReadonlyMap<string, number>,
  path: Path,
  places: Places,
): void {
  const name = textOf(candidate, way);
  if (name === undefined || known.has(name)) return;
  const at = [...path, way];
  const shown = places.isFromOutside(at) ? 'that' : JSON.stringify(name);
  const none = known.size === 0 ? `: the file has no ${way}s` : hint(name, known.keys());
  places.add(at, `no ${way} is called ${shown}${none}`);
}

function addTwin(
  candidate: Members,
  model: Members,
  path: Path,
  seen: Map<string, number>,
  places: Places,
): void {
  const provider = textOf(candidate, 'provider');
  const upstreamModel = textOf(candidate, 'model') ?? textOf(model, 'id');
  // As its prices are filed: a provider a/b with the model c would pass for a provider a with the model b/c.
  const target =
    provider === undefined ? `slot/${textOf(candidate, 'slot')}` : `${provider}/${upstreamModel}`;
  const first = seen.get(target);
  if (first !== undefined) places.add(path, `is the same as candidates[${first}] of this model`);
  else if (has(candidate, 'slot') || provider !== undefined) seen.set(target, Number(path.at(-1)));
}

function addCompletionFault(owner: Members, model: Members, path: Path, places: Places): void {
  const completion = textOf(owner, 'max_completion_tokens');
  const context = textOf(owner, 'context_length') ?? textOf(model, 'context_length');
  if (completion === undefined || context === undefined || !(Number(completion) > Number(context))) return;
  const at = [...path, 'max_completion_tokens'];
  places.add(at, `must not be above context_length (${context})${quoted(completion, at, places)}`);
}
