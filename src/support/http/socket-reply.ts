import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ApiError } from '../../contract/errors.ts';

/** The reply header with the request's id. */
export const REQUEST_ID_HEADER = 'x-request-id';

/**
 * Answers a request without a response object (invalid HTTP, or a protocol upgrade) and ends its connection.
 *
 * @param body of the reply. Default: that of all routes.
 */
export function endWithError(socket: Duplex, error: ApiError, requestId: string, body: object = error.toBody()): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const payload = JSON.stringify(body);
  const headers = {
    ...error.headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(payload),
    [REQUEST_ID_HEADER]: requestId,
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end([`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`, ...lines, '', payload].join('\r\n'));
}
