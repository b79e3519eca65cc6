import { createServer } from 'node:net';
import { isJsonObject } from '../../../contract/json.ts';
import { isLoopbackHost } from '../../../support/http/origin-guard.ts';
import { askServer, isProctor } from '../../base/probe-server.ts';
import type { Finding } from './finding.ts';

export interface PortOfServer {
  readonly server: 'run service' | 'scenario server';
  readonly host: string;
  readonly port: number;
  /** Option that changes the port. */
  readonly option: string;
  /** Key of this directory that the server should accept; undefined if there is none. */
  readonly key?: string | undefined;
}

/** Checks that a port is free or held by a Proctor server, which is then asked whether it is ready. */
export async function checkPort(place: PortOfServer): Promise<Finding> {
  const { server, host, port, option, key } = place;
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
  if (key !== undefined && isLoopbackHost(host) && !(await knowsKey(url, key))) {
    const remedy = `start this one with ${option}, and name the same port to "proctor open"`;
    return { name, status: 'warn', message: `Proctor's ${server} of another project is up there: ${remedy}` };
  }
  const ready = await askServer(`${url}/readyz`);
  if (ready?.status === 200) return { name, status: 'ok', message: `Proctor's ${server} is up and ready there` };
  const error = isJsonObject(ready?.body) && isJsonObject(ready.body.error) ? ready.body.error.message : undefined;
  const why = typeof error === 'string' ? error : 'It does not say whether it is ready.';
  return { name, status: 'warn', message: `Proctor's ${server} is up there, but not ready. ${why} Its log says more` };
}

/** Tests a key against a server of this machine. */
async function knowsKey(url: string, key: string): Promise<boolean> {
  const reply = await askServer(`${url}/v1/traces?limit=1`, { authorization: `Bearer ${key}` });
  return reply?.status !== 401;
}

/** Error code of listening on the port; undefined if it works. */
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
