import type { NewLink } from '../identity/links-sql.ts';
import { isoOf } from '../time/clock.ts';
import type { CliContext } from './context.ts';
import { type CommonOptions, cliPaths } from './options.ts';
import type { Output } from './output.ts';

/**
 * Prints a one-time link: at the origins of the running server, or else at those of the
 * configuration.
 */
export async function printLink(
  cli: CliContext,
  flags: CommonOptions,
  output: Output,
  link: NewLink,
  more: object,
): Promise<void> {
  const { readPageOrigins } = await import('../admin/page-origins.ts');
  const { linkUrl } = await import('../identity/page-links.ts');
  const url = linkUrl(await readPageOrigins(cliPaths(flags), cli), link);
  const row = { ...more, purpose: link.purpose, url, expires_at: isoOf(link.expiresAtMs) };
  await output.one(`${url}\n(works once, until ${isoOf(link.expiresAtMs)})`, row);
}
