import type { ServerResponse } from 'node:http';
import type { RouteReply } from '../api/route.ts';
import { letGoWhenStalled } from '../stalled-client.ts';
import type { TextStream } from '../text-stream.ts';
import { endReply } from './end-reply.ts';

/**
 * Sends a handler's reply: JSON, text, bytes or a stream. It closes the connection of a client that is too slow, and
 * calls `onTooSlow`.
 */
export function sendReply(response: ServerResponse, reply: RouteReply, onTooSlow: () => void = () => {}): void {
  if (response.destroyed) return;
  const letGo = () => {
    if (response.destroyed) return;
    onTooSlow();
    response.destroy();
  };
  const { status = 200, headers = {}, body, stream } = reply;
  response.statusCode = status;
  response.setHeader('cache-control', 'no-store');
  response.setHeader('x-content-type-options', 'nosniff');
  if (stream !== undefined) {
    sendStream(response, stream, { headers, letGo });
    return;
  }
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const payload = isRaw || body === undefined ? body : JSON.stringify(body);
  if (!isRaw && payload !== undefined) response.setHeader('content-type', 'application/json; charset=utf-8');
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const length = payload === undefined ? 0 : Buffer.byteLength(payload);
  if (status !== 204) response.setHeader('content-length', length);
  if (payload === undefined || length <= SLICE_BYTES || response.req.method === 'HEAD') endReply(response, payload);
  else sendLarge(response, typeof payload === 'string' ? Buffer.from(payload) : payload, letGo);
}

function sendStream(
  response: ServerResponse,
  stream: TextStream,
  { headers, letGo }: { readonly headers: Readonly<Record<string, string>>; readonly letGo: () => void },
): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.flushHeaders();
  const write = letGoWhenStalled(response, { letGo });
  response.on('drain', () => stream.drained());
  stream.readTo({ write: (text) => response.destroyed || write(text), end: () => response.end(), cut: letGo });
}

/** Sends a large body in slices, to see whether the client still reads. */
function sendLarge(response: ServerResponse, payload: Uint8Array, letGo: () => void): void {
  const write = letGoWhenStalled(response, { letGo });
  let sent = 0;
  const sendOn = () => {
    while (sent < payload.length) {
      const slice = payload.subarray(sent, sent + SLICE_BYTES);
      sent += slice.length;
      if (!write(slice)) return;
    }
    response.off('drain', sendOn);
    response.end();
  };
  response.on('drain', sendOn);
  sendOn();
}

const SLICE_BYTES = 256 * 1024;
