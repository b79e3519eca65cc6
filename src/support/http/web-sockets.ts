import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { ApiError } from '../../contract/errors.ts';
import { type AuthenticationOptions, createAuthentication } from './api/api-keys.ts';
import { shuttingDown, toApiError } from './api/errors.ts';
import { createRequestId, type UpgradeListener } from './listen.ts';
import { createOriginGuard } from './origin-guard.ts';
import type { HttpLog } from './request-log.ts';
import { endWithError } from './socket-reply.ts';

export interface WebSocketOptions extends AuthenticationOptions {
  /** Handlers by path. They get sockets that passed the checks of Host, Origin and key. */
  readonly paths: ReadonlyMap<string, (socket: WebSocket) => void>;
  /** Largest message in bytes. A larger one closes the socket with code 1009. */
  readonly maxMessageBytes: number;
  readonly allowedHosts?: readonly string[];
  readonly logger: HttpLog;
  /** Aborted at SIGTERM. From then on sockets are refused with 503 `shutting_down`. */
  readonly closing?: AbortSignal;
  /** Body of refusals. Default: that of all routes. */
  readonly toErrorBody?: (error: ApiError) => object;
}

/**
 * Opens WebSockets at some paths of a server, for `listen`. A refused request gets an HTTP reply. Browsers send no
 * preflight for sockets, so the check of Origin is the only protection against foreign pages.
 */
export function createWebSockets(options: WebSocketOptions): UpgradeListener {
  const { paths, logger, closing } = options;
  const guard = createOriginGuard(options.allowedHosts);
  const { authenticate } = createAuthentication(options);
  // Compression is off, because it would take about 300 KB per socket.
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: options.maxMessageBytes,
  });

  async function admit(request: IncomingMessage): Promise<(socket: WebSocket) => void> {
    const { headers, url = '/' } = request;
    guard.check(headers);
    await authenticate('key', { method: 'GET', headers });
    const path = url.split('?')[0] ?? '';
    const open = paths.get(path);
    if (open === undefined) throw unknownPath(path, paths);
    if (headers.upgrade?.toLowerCase() !== 'websocket') throw otherProtocol(headers.upgrade);
    if (closing?.aborted) throw shuttingDown();
    return open;
  }

  return (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const requestId = createRequestId();
    // Without a listener a lost connection would end the process.
    const ignore = () => {};
    socket.on('error', ignore);
    admit(request)
      .then((open) => {
        socket.off('error', ignore);
        server.handleUpgrade(request, socket, head, open);
      })
      .catch((thrown: unknown) => {
        const error = toApiError(thrown, requestId);
        if (error.code === 'internal_error') logger.error({ requestId, err: thrown }, 'A socket could not be opened');
        else logger.warn({ requestId, code: error.code }, 'A socket was refused');
        endWithError(socket, error, requestId, options.toErrorBody?.(error));
      });
  };
}

function unknownPath(path: string, paths: WebSocketOptions['paths']): ApiError {
  const known = [...paths.keys()].join(', ');
  return new ApiError('unknown_url', `There is no WebSocket at ${path.slice(0, 200)}; there are ${known}.`);
}

function otherProtocol(upgrade = 'nothing'): ApiError {
  const asked = JSON.stringify(upgrade.slice(0, 100));
  return new ApiError('invalid_parameter', `This path is for "upgrade: websocket"; the request has ${asked}.`);
}
