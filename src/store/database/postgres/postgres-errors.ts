import { messageOf } from '../../../contract/errors.ts';
import { ConnectionLostError, storeIsBusy, storeIsFull, UniqueViolationError } from '../store-errors.ts';

/** Codes of https://www.postgresql.org/docs/current/errcodes-appendix.html and of Node.js sockets. */
const LOST_CODES =
  /^(08...|57P0[1235]|25P03|53300|ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT)$/;

/** Messages of errors for which the driver has no code. */
const LOST_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed)/;

/** Translates an error of the driver into one of every store. An error without a translation is returned as it is. */
export function toStoreError(error: unknown): unknown {
  const code = codeOf(error) ?? '';
  const message = messageOf(error);
  if (LOST_CODES.test(code) || LOST_MESSAGES.test(message)) return new ConnectionLostError(error);
  if (code === '23505') return new UniqueViolationError(message, { cause: error });
  if (code === '53100' || code === '53200' || code === 'ENOSPC') return storeIsFull(error);
  if (code === '55P03' || code === '57014') return storeIsBusy(error);
  return error;
}

/** True when a deadlock or a serialization conflict rolled the transaction back. It can be run again. */
export function isContention(error: unknown): boolean {
  return /^40(P01|001)$/.test(codeOf(error) ?? '');
}

/**
 * The error for a database that cannot be opened, with the reason and the way out. `url` is the address without its
 * password.
 */
export function toOpenError(error: unknown, url: URL): Error {
  const { cause } = error instanceof ConnectionLostError ? error : { cause: error };
  return new Error(`Cannot open the database ${url.href}: ${explain(cause, url)}`, { cause });
}

function explain(error: unknown, url: URL): string {
  const code = codeOf(error) ?? '';
  const message = messageOf(error);
  const name = decodeURIComponent(url.pathname.slice(1)) || url.username;
  const at = url.searchParams.get('host') ?? (url.host || 'localhost');
  if (code === '28P01') {
    return `Postgres refuses the password of the user ${quote(url.username)}. Correct it in PROCTOR_DATABASE_URL (signs such as @ and / are written as %40 and %2F).`;
  }
  if (code === '28000')
    return `Postgres refuses the user ${quote(url.username)} (${message}). Make the user, or let it connect by pg_hba.conf.`;
  if (code === '3D000')
    return `there is no database ${quote(name)}. Make it with "createdb ${name}", or name another one.`;
  if (code === '42501') {
    return `${message}. Make the user the owner of the database: "alter database ${name} owner to ${url.username}".`;
  }
  if (typeof error === 'object' && error !== null && 'path' in error && code === 'ENOENT' && /open/.test(message)) {
    return `${message}. Correct sslrootcert, sslcert or sslkey in PROCTOR_DATABASE_URL.`;
  }
  if (/certificate|SSL|TLS/i.test(message) && code !== 'ECONNREFUSED') {
    return `${message}. Set sslrootcert=<file> to the authority of the server, sslmode=no-verify to trust any, or sslmode=disable for a connection without TLS.`;
  }
  if (/SCRAM|password must be a string/i.test(message)) {
    return `Postgres wants a password of the user ${quote(url.username)}. Put it in the address: postgres://user:password@host/database.`;
  }
  if (LOST_CODES.test(code) || LOST_MESSAGES.test(message)) {
    return `no Postgres answers at ${at} (${code || message}). Start it, or correct PROCTOR_DATABASE_URL.`;
  }
  return message;
}

/** The code of an error. When several addresses were tried, the code of the first. */
function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error instanceof AggregateError ? codeOf(error.errors[0]) : undefined;
}

function quote(text: string): string {
  return JSON.stringify(decodeURIComponent(text));
}
