import type { z } from 'zod';
import { type Mapping, mappingOf } from '../mapping.ts';
import type { Tree } from '../read-yaml.ts';
import { rootSchema } from '../schema.ts';
import type { SourceMap } from '../source-map.ts';
import { encryptedUrl } from '../validators.ts';
import type { FileMapping, KnownMetadata, Names } from './context.ts';
import { checkModel } from './models.ts';
import { exchangeOf } from './prices.ts';
import { checkProvider } from './providers.ts';
import { checkSlot } from './slots.ts';

/**
 * Reports faults between members of the file: duplicate names, unknown names, mutually exclusive
 * members. It runs whether the schema accepts the file or not, so that every fault is reported at
 * once.
 */
export function checkFile(tree: Tree, sourceMap: SourceMap, known: KnownMetadata): void {
  const file = mappingOf(rootSchema, tree, sourceMap);
  checkPorts(file);
  checkEdge(file);
  checkAdmin(file);
  checkAuth(file);
  checkMail(file);
  checkBackup(file);
  const providers = namesOf(file.mappings('providers'), 'providers', 'slug');
  const anthropic = file.mappings('providers').filter((row) => row.text('dialect') === 'anthropic');
  const maxRequired = new Set(anthropic.map((row) => row.text('slug')));
  const slots = namesOf(file.mappings('slots'), 'slots', 'name');
  namesOf(file.mappings('models'), 'models', 'id');
  namesOf(file.mappings('gpus'), 'gpus', 'id');
  for (const provider of file.mappings('providers')) checkProvider(provider);
  for (const slot of file.mappings('slots')) checkSlot(slot, file.mappings('gpus'));
  const context = { providers, maxRequired, slots, known, exchange: exchangeOf(file) };
  for (const model of file.mappings('models')) checkModel(model, context);
}

function checkPorts(file: FileMapping): void {
  const [listen, admin] = [file.mapping('listen'), file.mapping('admin')];
  const port = admin.value('port');
  if (port === undefined || port === 0 || port !== listen.value('port')) return;
  (admin.states('port') ? admin : listen).addAt('port', 'listen and admin have the same port');
}

/** Without them every client has the address of the proxy, and nothing limits a direct one. */
function checkEdge(file: FileMapping): void {
  const edge = file.mapping('edge');
  if (edge.value('rate_limit') === 'external' && edge.items('trusted_proxies')?.length === 0)
    edge.addAt(
      'rate_limit',
      'is external, so state the addresses of the proxy that limits rates in trusted_proxies',
    );
}

function checkAdmin(file: FileMapping): void {
  const admin = file.mapping('admin');
  const url = admin.value('public_url');
  if (url === undefined) return;
  if (!file.mapping('edge').states('trusted_proxies'))
    admin.addAt('public_url', 'needs edge.trusted_proxies: the address from which the proxy connects');
  const dashboard = file.mapping('auth').value('public_url') ?? '';
  if (URL.canParse(url) && URL.parse(dashboard)?.hostname === new URL(url).hostname)
    admin.addAt('public_url', 'must have another name than auth.public_url: cookies do not know ports');
}

function checkAuth(file: FileMapping): void {
  const auth = file.mapping('auth');
  if (auth.states('oidc') && !auth.states('public_url'))
    auth.addAt('oidc', 'needs auth.public_url: the provider sends browsers back there');
  if (file.states('payments') && !auth.states('public_url'))
    file.addAt('payments', 'needs auth.public_url: the provider sends browsers back there');
  const oidc = auth.mapping('oidc');
  if (oidc.states('operator_roles') && !file.mapping('admin').states('public_url'))
    oidc.addAt('operator_roles', 'needs admin.public_url: the provider sends operators back there');
}

function checkMail(file: FileMapping): void {
  const mail = file.mapping('mail');
  if (mail.states('user') !== mail.states('password'))
    mail.addAt(
      mail.states('user') ? 'user' : 'password',
      'needs the other: state user and password, or neither',
    );
  if (mail.states('password') && mail.value('security') === 'none')
    mail.addAt('security', 'would send the password unencrypted: use starttls or tls');
}

function checkBackup(file: FileMapping): void {
  const backup = file.mapping('backup');
  if (backup.states('schedule') && !backup.states('directory') && !backup.states('s3'))
    backup.addAt('schedule', 'needs backup.directory or backup.s3: where backups are kept');
  if (backup.states('drill') && !backup.states('schedule'))
    backup.addAt('drill', 'needs backup.schedule: it restores what that makes');
  if (backup.states('directory') && backup.states('s3'))
    backup.addAtName('s3', 'cannot be beside backup.directory: backups are kept in one place');
  const s3 = backup.mapping('s3');
  const endpoint = s3.value('endpoint');
  const fault = endpoint === undefined ? null : encryptedUrl(endpoint);
  if (fault !== null && s3.value('allow_http') !== true) s3.addAt('endpoint', `${fault}, or with allow_http`);
}

/** The names in use; a second use is a fault. */
function namesOf<S extends z.ZodObject>(
  items: readonly Mapping<S>[],
  list: string,
  member: keyof S['shape'] & string,
): Names {
  const names = new Map<string, number>();
  items.forEach((item, index) => {
    const name = item.text(member);
    if (name === undefined || item.isUnknown(member)) return;
    const first = names.get(name);
    if (first === undefined) names.set(name, index);
    else
      item.addAt(member, `${list}[${first}] on line ${items[first]?.lineOf(member)} has the same ${member}`);
  });
  return names;
}
