import { registerHooks } from 'node:module';

const src = new URL('../../../src/', import.meta.url);

/** The files of `src/` whose functions have a model, by the file of the model. */
const modelled = {
  keys: ['accounts/keys-sql.ts'],
  money: [
    'accounts/accounts-sql.ts',
    'generations/generations-sql.ts',
    'ledger/ledger-sql.ts',
    'ledger/lots-sql.ts',
  ],
  nodes: [
    'nodes/credit-leases-sql.ts',
    'nodes/nodes-sql.ts',
    'store/changes.ts',
    'store/database-identity.ts',
    'store/server-time.ts',
    'store/placement/shards.ts',
  ],
  prices: ['catalogue/prices-sql.ts', 'catalogue/publications-sql.ts'],
  settlement: [
    'generations/apps-sql.ts',
    'ledger/late-hours-sql.ts',
    'ledger/quarantine-sql.ts',
    'ledger/settlement-statements-sql.ts',
    'ledger/usage-sql.ts',
  ],
};
const modelOf = new Map(
  Object.entries(modelled).flatMap(([name, files]) =>
    files.map((file) => [new URL(file, src).href, new URL(`${name}.ts`, import.meta.url).href] as const),
  ),
);
const models = new Set(modelOf.values());
/** Marks the modules that are loaded in this way: the others keep the store. */
const mark = '?model';

/**
 * Imports a module of the tests with everything that it imports, where the functions of the store
 * are those of the model. A function of the store without a model sends its statement, which the
 * model refuses.
 */
export async function importWithModel<Module>(file: URL): Promise<Module> {
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const { parentURL = '' } = context;
      if (!parentURL.endsWith(mark) || !found.url.startsWith('file:') || found.url.includes('/node_modules/'))
        return found;
      const importer = parentURL.slice(0, -mark.length);
      // A model imports the file that it stands for, and that file its own neighbours.
      const isBelow = models.has(importer) || modelOf.has(importer);
      return { ...found, url: `${isBelow ? found.url : (modelOf.get(found.url) ?? found.url)}${mark}` };
    },
  });
  return import(`${file.href}${mark}`);
}
