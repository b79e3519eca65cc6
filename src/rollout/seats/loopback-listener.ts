import { timingSafeEqual } from 'node:crypto';
import { createHttpApp, type HttpAppOptions } from '../../support/http/app.ts';
import { type HttpListener, listen } from '../../support/http/listen.ts';
import { PROCTOR_VERSION } from '../../support/runtime/version.ts';
import { createModelMount } from './model-endpoint/model-mount.ts';
import type { SeatEndpoints } from './seat-endpoints.ts';
import { createSeatMount } from './seat-mount.ts';
import { createSeatSecret } from './seat-secret.ts';

const HOST = '127.0.0.1';

/** A local server for the addresses of a seat. The caller must close it, and then the `SeatEndpoints`. */
export interface LoopbackListener {
  /** Address of the server, without a slash at the end. */
  readonly base: string;
  /** The bearer token of its MCP address and the key of its model addresses. */
  readonly secret: string;
  /** Refuses new requests and gives those in progress `graceMs` milliseconds. Never rejects. */
  close(graceMs: number): Promise<void>;
}

/** Serves one seat at a free local port, for a worker without an address of its own. */
export async function listenOnLoopback(
  door: SeatEndpoints,
  logger: HttpAppOptions['logger'],
): Promise<LoopbackListener> {
  const secret = createSeatSecret();
  const doors = { find: (given: string | undefined) => (isSame(given, secret) ? door : undefined) };
  const mounts = [createSeatMount(doors, (line) => logger.warn({}, line)), createModelMount(doors)];
  const listener = await listenForSeats(mounts, { port: 0, logger });
  return { base: listener.url, secret, close: (graceMs) => listener.close(graceMs) };
}

/** Serves nothing but the endpoints of seats, at a port of this machine. */
export async function listenForSeats(
  mounts: NonNullable<HttpAppOptions['mounts']>,
  { port, logger }: { readonly port: number; readonly logger: HttpAppOptions['logger'] },
): Promise<HttpListener> {
  const app = createHttpApp({
    title: 'Proctor seat',
    version: PROCTOR_VERSION,
    host: HOST,
    logger,
    routes: [],
    mounts,
    loadsLate: true,
  });
  return await listen(app, { host: HOST, port });
}

function isSame(given: string | undefined, secret: string): boolean {
  if (given === undefined || given.length !== secret.length) return false;
  return timingSafeEqual(Buffer.from(given), Buffer.from(secret));
}
