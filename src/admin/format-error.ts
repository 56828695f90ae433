import { isAbsolute } from 'node:path';
import { Refusal } from '../errors/catalogue.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { redact } from '../log/log.ts';

/** Codes of a database server that cannot be had, with what the operator can do. */
const databaseCodes = new Map([
  ['ECONNREFUSED', 'nothing listens there'],
  ['ENOTFOUND', 'there is no machine of that name'],
  ['EAI_AGAIN', 'its name cannot be looked up now'],
  ['ETIMEDOUT', 'it does not answer'],
  ['EHOSTUNREACH', 'its machine cannot be reached'],
  ['ECONNRESET', 'it closed the connection'],
  ['EPIPE', 'it closed the connection'],
  ['28P01', 'the password is wrong'],
  ['28000', 'it does not let this user in'],
  ['3D000', 'there is no database of that name'],
  ['42501', 'the user lacks a right on the database'],
  ['53300', 'it has no connection left'],
  ...[
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  ].map((code) => [code, 'nobody known vouches for its certificate: name who does by sslrootcert='] as const),
  ['CERT_HAS_EXPIRED', 'its certificate has expired'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is for another name'],
]);

const fileCodes = new Map([
  ['EACCES', 'permission denied'],
  ['EPERM', 'not permitted'],
  ['EROFS', 'the file system is read-only'],
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'the disk quota is used up'],
  ['ENOTDIR', 'something on the way to it is not a folder'],
  ['ENOENT', 'it is not there, or cannot be made'],
  ['EEXIST', 'something else has that name'],
  ['EISDIR', 'it is a folder'],
  ['ELOOP', 'its links lead in a circle'],
  ['ENAMETOOLONG', 'the name is too long'],
]);

/**
 * What to say of an error that ends a command: one sentence with the remedy for whatever an operator can mend, the stack for a
 * fault of ours. Never a secret.
 */
export function formatError(error: unknown): string {
  if (!(error instanceof Error)) return redact(String(error));
  if (error instanceof OperatorError || error instanceof Refusal || error.name === 'EmbeddedError')
    return error.message;
  const { code, path, severity } = error as { code?: unknown; path?: unknown; severity?: unknown };
  const known = typeof code === 'string' ? code : '';
  const fault = fileCodes.get(known);
  if (fault !== undefined && typeof path === 'string' && isAbsolute(path)) return `${path}: ${fault}`;
  const isOfDatabase =
    severity !== undefined ||
    'errors' in error ||
    /connect|timeout|certificate|getaddrinfo|^(read|write) E/i.test(error.message);
  const cause =
    databaseCodes.get(known) ?? (/timeout/i.test(error.message) ? 'it does not answer' : undefined);
  if (isOfDatabase && cause !== undefined)
    return redact(
      `the database cannot be used: ${cause} (${error.message || known}): see database.url in naru.yaml`,
    );
  if (known === '22003')
    return 'the sum would be more than the books can hold, which is 9223372036854.775807 won';
  // The two words of store/migrate.ts about a schema that this program does not know.
  if (/^(the database has migration|migration \S+ was edited)/.test(error.message)) return error.message;
  // Also as a worker reported it, of whose error only the message is left.
  if (/^node identity \S+ is in use/.test(error.message)) return error.message;
  return redact(error.stack ?? error.message);
}
