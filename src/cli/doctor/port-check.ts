import { createServer } from 'node:net';
import { isJsonObject } from '../../contract/json.ts';
import { isLoopbackHost } from '../../http/origin-guard.ts';
import { askServer, isProctor } from '../probe-server.ts';
import type { Finding } from './finding.ts';

export interface PortOfServer {
  readonly server: 'run service' | 'scenario server';
  readonly host: string;
  readonly port: number;
  /** The option that moves it elsewhere. */
  readonly option: string;
}

/** Free, or held by a server of ours, which is then asked whether it is ready. */
export async function checkPort(place: PortOfServer): Promise<Finding> {
  const { server, host, port, option } = place;
  const name = `port ${port}`;
  const trouble = await bindTrouble(host, port);
  if (trouble === undefined) return { name, status: 'ok', message: `free for the ${server}` };
  if (trouble === 'EACCES') {
    return { name, status: 'fail', message: `this user may not listen on it: take one above 1023 with ${option}` };
  }
  if (trouble !== 'EADDRINUSE') {
    return { name, status: 'fail', message: `${host} is not an address of this machine (${trouble}): check --host` };
  }
  const url = `http://${isLoopbackHost(host) && host !== '::1' ? host : '127.0.0.1'}:${port}`;
  if (!(await isProctor(url))) {
    const remedy = `stop it, or choose another port with ${option}`;
    return { name, status: 'fail', message: `taken, and not by Proctor's ${server}: ${remedy}` };
  }
  const ready = await askServer(`${url}/readyz`);
  if (ready?.status === 200) return { name, status: 'ok', message: `Proctor's ${server} is up and ready there` };
  const error = isJsonObject(ready?.body) && isJsonObject(ready.body.error) ? ready.body.error.message : undefined;
  const why = typeof error === 'string' ? error : 'It does not say whether it is ready.';
  return { name, status: 'warn', message: `Proctor's ${server} is up there, but not ready. ${why} Its log says more` };
}

/** The error code of listening there; undefined where that works. */
async function bindTrouble(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: host.replace(/^\[(.*)\]$/, '$1'), port, exclusive: true }, () => resolve());
    });
    return undefined;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}
