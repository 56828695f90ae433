import type { GpuMapping, SlotMapping } from './context.ts';

/** The members that define an engine, and the driver of each. */
const driverOf = { command: 'process', external: 'external', k8s: 'k8s-scale' } as const;

/** Members of an engine that Naru starts itself. */
const ownEngineMembers = [
  ...(['env', 'cwd', 'ready_path', 'gpus', 'vram_mb', 'replicas', 'warm_up_ms', 'sleep'] as const),
];

/** Members for the API server, which is not called where something else scales. */
const scalingMembers = ['replicas', 'api_url', 'token', 'token_file', 'ca'] as const;

/** Reports contradictions in a slot, and memory that it can never get. */
export function checkSlot(row: SlotMapping, gpus: readonly GpuMapping[]): void {
  const ways = (['command', 'external', 'k8s'] as const).filter((way) => row.states(way));
  const [way] = ways;
  const driver = row.text('driver');
  if (way === undefined) row.add('needs one of command, external and k8s');
  else if (ways.length > 1) row.add(`needs only one of ${ways.join(' and ')}`);
  else if (driver !== undefined && driver !== driverOf[way])
    row.addAt('driver', `is ${driverOf[way]} for a slot with ${way}`);
  const isExternal = way !== undefined && way !== 'command';
  if (isExternal && ways.length === 1) {
    for (const name of ownEngineMembers) {
      if (row.states(name)) row.addAtName(name, `has no effect for a slot with ${way}`);
    }
  }
  checkKubernetes(row);
  checkGpus(row);
  checkMemory(row, gpus);
  if (!isExternal) checkCommand(row);
}

function checkCommand(row: SlotMapping): void {
  const command = row.items('command');
  if (command === null || !row.states('command')) return;
  const values = [...command, ...Object.values(row.members('env'))];
  const hasPort = values.some((value) => typeof value === 'string' && value.includes('{port}'));
  if (!hasPort) row.addAt('command', 'does not contain {port}, so the engine does not know where to listen');
}

function checkKubernetes(row: SlotMapping): void {
  const k8s = row.mapping('k8s');
  if (k8s.states('token') && k8s.states('token_file')) k8s.add('needs only one of token and token_file');
  if (k8s.value('manage') !== false) return;
  for (const name of scalingMembers) {
    if (k8s.states(name)) k8s.addAtName(name, 'has no effect where manage is false');
  }
}

function checkGpus(row: SlotMapping): void {
  const gpus = row.items('gpus');
  if (gpus === null) return;
  if ((row.value('vram_mb') ?? 0) > 0 && gpus.length === 0)
    row.addAt('vram_mb', 'needs gpus: it is their memory');
  gpus.forEach((id, index) => {
    if (gpus.indexOf(id) < index) row.addAt('gpus', 'is in the list twice', index);
  });
}

/** A slot that can never fit would wait forever. */
function checkMemory(row: SlotMapping, gpus: readonly GpuMapping[]): void {
  const vram = row.value('vram_mb');
  if (vram === undefined || !row.states('vram_mb')) return;
  gpus.forEach((each, index) => {
    const id = each.text('id');
    const budget = each.value('vram_mb');
    if (id !== undefined && budget !== undefined && row.items('gpus')?.includes(id) === true && vram > budget)
      row.addAt('vram_mb', `is more than the vram_mb of gpus[${index}]${each.inBrackets('vram_mb')}`);
  });
  const sleep = row.mapping('sleep');
  if (sleep.states('vram_mb') && (sleep.value('vram_mb') ?? 0) > vram)
    sleep.addAt('vram_mb', `must not be above vram_mb${row.inBrackets('vram_mb')}`);
}
