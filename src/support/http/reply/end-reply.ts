import type { IncomingMessage, ServerResponse } from 'node:http';

/** Largest rest of a request body that is read after the reply, and the time for it. */
const LINGER = { bytes: 64 * 1024 * 1024, milliseconds: 10_000 };

/**
 * Ends a reply whose headers contain its length. An unfinished request body is first read and discarded, within limits:
 * closing a connection while its client still sends resets it, and the client would never read the reply.
 */
export function endReply(response: ServerResponse, payload?: string | Uint8Array, limits = LINGER): void {
  const { req: request } = response;
  if (request.complete || !hasBody(request)) {
    response.end(payload);
    return;
  }
  if (payload === undefined) response.flushHeaders();
  else response.write(payload);
  let size = 0;
  const stop = () => {
    clearTimeout(timer);
    request.off('data', count);
    request.off('end', stop);
    request.off('close', stop);
    response.end();
    if (!request.complete) request.socket.destroySoon();
  };
  const count = (chunk: Buffer) => {
    size += chunk.length;
    if (size > limits.bytes) stop();
  };
  const timer = setTimeout(stop, limits.milliseconds);
  timer.unref();
  request.on('data', count);
  request.once('end', stop);
  request.once('close', stop);
  request.resume();
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
