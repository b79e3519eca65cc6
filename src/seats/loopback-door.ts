import { timingSafeEqual } from 'node:crypto';
import { createHttpApp, type HttpAppOptions } from '../http/app.ts';
import { listen } from '../http/listen.ts';
import { PROCTOR_VERSION } from '../runtime/version.ts';
import type { SeatDoor } from './seat-door.ts';
import { createSeatMount } from './seat-mount.ts';
import { createSeatSecret } from './seat-secret.ts';

const HOST = '127.0.0.1';

/** A door that a process of this machine can reach. Whoever opened it closes it, and then the door. */
export interface LoopbackDoor {
  /** Address of its server, without a slash at the end. */
  readonly base: string;
  /** The bearer token of its MCP address and the key of its model addresses. */
  readonly secret: string;
  /** Takes no new request, lets those that go on end within `graceMs` milliseconds. Never rejects. */
  close(graceMs: number): Promise<void>;
}

/** Serves one door at a free port of this machine, for a worker that has no address of its own. */
export async function listenAtDoor(door: SeatDoor, logger: HttpAppOptions['logger']): Promise<LoopbackDoor> {
  const secret = createSeatSecret();
  const doors = { find: (given: string | undefined) => (isSame(given, secret) ? door : undefined) };
  const app = createHttpApp({
    title: 'Proctor seat',
    version: PROCTOR_VERSION,
    host: HOST,
    logger,
    routes: [],
    mounts: [createSeatMount(doors, (line) => logger.warn({}, line))],
    loadsLate: true,
  });
  const listener = await listen(app, { host: HOST, port: 0 });
  return { base: listener.url, secret, close: (graceMs) => listener.close(graceMs) };
}

function isSame(given: string | undefined, secret: string): boolean {
  if (given === undefined || given.length !== secret.length) return false;
  return timingSafeEqual(Buffer.from(given), Buffer.from(secret));
}
