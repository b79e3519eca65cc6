import type { Response } from 'express';
import type { RouteReply } from './route.ts';
import { letGoWhenStalled } from './stalled-client.ts';
import type { TextStream } from './text-stream.ts';

/** Sends what a handler gave: JSON, text, bytes, or a stream. A client that takes nothing of it any more is let go. */
export function sendReply(response: Response, reply: RouteReply): void {
  if (response.destroyed) return;
  const { status = 200, headers = {}, body, stream } = reply;
  response.statusCode = status;
  response.setHeader('cache-control', 'no-store');
  response.setHeader('x-content-type-options', 'nosniff');
  if (stream !== undefined) {
    sendStream(response, stream, headers);
    return;
  }
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const payload = isRaw || body === undefined ? body : JSON.stringify(body);
  if (!isRaw && payload !== undefined) response.setHeader('content-type', 'application/json; charset=utf-8');
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const length = payload === undefined ? 0 : Buffer.byteLength(payload);
  if (status !== 204) response.setHeader('content-length', length);
  if (payload === undefined || length <= SLICE_BYTES || response.req.method === 'HEAD') response.end(payload);
  else sendLarge(response, typeof payload === 'string' ? Buffer.from(payload) : payload);
}

function sendStream(response: Response, stream: TextStream, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.flushHeaders();
  const write = letGoWhenStalled(response);
  response.on('drain', () => stream.drained());
  stream.readTo({ write: (text) => response.destroyed || write(text), end: () => response.end() });
}

/** In slices, so that it shows whether a client takes any of it. */
function sendLarge(response: Response, payload: Uint8Array): void {
  const write = letGoWhenStalled(response);
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
