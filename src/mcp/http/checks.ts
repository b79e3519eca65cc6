import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../../contract/errors.ts';
import { isLoopbackHost } from '../../http/origin-guard.ts';
import { REQUEST_ID_HEADER } from '../../http/request-id.ts';
import { isSameSecret } from '../audience.ts';
import { Refusal, RPC_CODE } from '../refusal.ts';

/** @throws Error that says what to set. */
export function assertMayBind(address: string, bearerToken: string | undefined): void {
  if (bearerToken === '') throw new Error('The bearer token is empty: give a random one, or none at all');
  if (bearerToken !== undefined && !(typeof bearerToken === 'string' && /^[\x21-\x7e]+$/.test(bearerToken))) {
    throw new Error('No request could show this bearer token: it has to be text without spaces, in ASCII');
  }
  if (isLoopbackHost(address) || bearerToken !== undefined) return;
  throw new Error(
    `Refusing to listen on ${address}, where other machines can connect, without a bearer token: ` +
      'set bearerToken, or listen on 127.0.0.1',
  );
}

/** Identifies the caller: the holder of the token, or on loopback everybody. @throws ApiError 401 */
export function authenticate(request: IncomingMessage, bearerToken: string | undefined): string {
  if (bearerToken === undefined) return 'loopback';
  const shown = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
  if (shown !== undefined && isSameSecret(shown, bearerToken)) return 'bearer';
  const problem = shown === undefined ? 'is missing' : 'is wrong';
  throw new ApiError('invalid_api_key', `The bearer token ${problem}: send "Authorization: Bearer <token>"`, {
    headers: { 'www-authenticate': 'Bearer' },
  });
}

/** Lets pages of an allowed origin read answers; a preflight is answered whole. The origin has been checked. */
export function answerPreflight(request: IncomingMessage, response: ServerResponse): boolean {
  const { origin } = request.headers;
  if (origin !== undefined) {
    response.setHeader('access-control-allow-origin', origin);
    response.setHeader('access-control-expose-headers', `mcp-session-id, ${REQUEST_ID_HEADER}`);
    response.setHeader('vary', 'origin');
  }
  if (request.method !== 'OPTIONS' || origin === undefined) return false;
  response.writeHead(204, {
    'access-control-allow-methods': 'POST, GET, DELETE',
    'access-control-allow-headers': request.headers['access-control-request-headers'] ?? '',
    'access-control-max-age': '600',
  });
  response.end();
  return true;
}

/** @throws Refusal 406 */
export function assertAccepts(request: IncomingMessage, types: readonly string[]): void {
  const accepted = (request.headers.accept ?? '').split(',').map((part) => part.split(';')[0]?.trim().toLowerCase());
  const isAccepted = (type: string) =>
    accepted.some((range) => range === type || range === '*/*' || range === `${type.split('/')[0]}/*`);
  if (types.every(isAccepted)) return;
  throw new Refusal(406, RPC_CODE.refused, `Not acceptable: Accept has to name ${types.join(' and ')}`);
}
