import { lastPublication } from '../../catalogue/publications-sql.ts';
import { counted } from '../../errors/counted.ts';
import { readNodes } from '../../nodes/nodes.ts';
import type { Database } from '../../store/database.ts';
import type { Finding } from './finding.ts';

/** Whether every live node bills the published edition and has its prices in its configuration. */
export async function examinePrices(database: Database): Promise<readonly Finding[]> {
  const edition = (await lastPublication(database))?.id ?? 0;
  const nodes = (await readNodes(database)).filter(({ lives }) => lives);
  if (nodes.length === 0) return [];
  const findings = nodes.flatMap((node): readonly Finding[] => {
    const who = `node ${node.id} (${node.address})`;
    if ((node.edition ?? 0) < edition)
      return [bad(`${who} does not serve edition ${edition} yet: see its log, or restart it`)];
    return (node.differences ?? 0) === 0
      ? []
      : [
          bad(
            `${who} bills edition ${edition}, and its configuration differs in ${counted(node.differences ?? 0, 'price')}: give it the file that was published, or run naru models publish with its file`,
          ),
        ];
  });
  if (findings.length > 0) return findings;
  return [{ name: 'prices', ok: true, message: `edition ${edition} on ${counted(nodes.length, 'node')}` }];
}

function bad(message: string): Finding {
  return { name: 'prices', ok: false, message };
}
