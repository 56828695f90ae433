import { isAbsolute } from 'node:path';
import { Refusal } from '../errors/catalogue.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { OutcomeUnknown } from '../errors/outcome-unknown.ts';
import { redact } from '../log/log.ts';
import { clientLossOf } from '../store/connection.ts';

/** Codes of TLS, with what is wrong. */
const tlsCodes = new Map([
  ...[
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  ].map(
    (code) => [code, 'the TLS certificate is not trusted; set sslrootcert= to the CA certificate'] as const,
  ),
  ['CERT_HAS_EXPIRED', 'the TLS certificate has expired'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'the TLS certificate is for another host name'],
]);

/** Codes of an unavailable database server, with what is wrong. */
const databaseCodes = new Map([
  ['ECONNREFUSED', 'nothing listens at that address'],
  ['ENOTFOUND', 'no such host'],
  ['EAI_AGAIN', 'the host name cannot be resolved now'],
  ['ETIMEDOUT', 'it does not respond'],
  ['EHOSTUNREACH', 'the host is unreachable'],
  ['ECONNRESET', 'it closed the connection'],
  ['EPIPE', 'it closed the connection'],
  ['28P01', 'the password is wrong'],
  ['28000', 'it rejects this user'],
  ['3D000', 'no such database'],
  ['42501', 'the user lacks a privilege on the database'],
  ['53300', 'it has no free connections'],
  ...tlsCodes,
]);

const fileCodes = new Map([
  ['EACCES', 'permission denied'],
  ['EPERM', 'not permitted'],
  ['EROFS', 'the file system is read-only'],
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'the disk quota is used up'],
  ['ENOTDIR', 'a part of the path is not a folder'],
  ['ENOENT', 'it does not exist or cannot be created'],
  ['EEXIST', 'another file has that name'],
  ['EISDIR', 'it is a folder'],
  ['ELOOP', 'its links form a loop'],
  ['ENAMETOOLONG', 'the name is too long'],
]);

/**
 * The message of an error that ends a command: one sentence with the remedy for what the operator
 * can correct, the stack for a bug. Never contains a secret.
 */
export function formatError(error: unknown): string {
  if (!(error instanceof Error)) return redact(String(error));
  if (error instanceof OperatorError || error instanceof Refusal) return error.message;
  if (error instanceof OutcomeUnknown)
    return `the outcome is not known: ${error.message}; look whether it was done before you repeat the command`;
  const { code, path } = error as { code?: unknown; path?: unknown };
  const known = typeof code === 'string' ? code : '';
  const fault = fileCodes.get(known);
  if (fault !== undefined && typeof path === 'string' && isAbsolute(path)) return `${path}: ${fault}`;
  const cause = databaseFaultOf(error, known);
  if (cause !== undefined)
    return redact(
      `the database is unavailable: ${cause} (${error.message || known}); check database.url in naru.yaml`,
    );
  if (known === '22003') return 'the sum would exceed the largest amount, 9223372036854.775807 won';
  return redact(error.stack ?? error.message);
}

/** Why the database is unavailable; undefined for an error of something else. */
function databaseFaultOf(error: Error, code: string): string | undefined {
  // Of the server itself, of several addresses of it, of a socket or a name, or of TLS.
  const isOfDatabase = ['severity', 'errors', 'syscall'].some((name) => name in error) || tlsCodes.has(code);
  if (isOfDatabase && databaseCodes.has(code)) return databaseCodes.get(code);
  const loss = clientLossOf(error);
  return loss === null ? undefined : loss === 'silent' ? 'it does not respond' : 'it closed the connection';
}
