import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import { isLoopbackHost } from '../http/origin-guard.ts';
import { type RunService, startRunService } from '../run-service/start.ts';
import { createPages } from '../web/pages.ts';
import type { Installation } from './installation.ts';

export interface ServiceOptions {
  readonly host: string;
  readonly port: number;
  readonly concurrency?: number;
  readonly logger: Logger;
}

const LOCAL_KEY_NAME = 'local';

/** The run service with its worker and the pages, as `proctor serve` and `proctor demo` start it. */
export async function startService(installation: Installation, options: ServiceOptions): Promise<RunService> {
  const { store, accounts, settings } = installation;
  return await startRunService({
    ...installation,
    ...options,
    appUrl: settings.appUrl,
    allowedHosts: settings.allowedHosts,
    pages: createPages({ store, accounts }),
    worker: options.concurrency === undefined ? {} : { concurrency: options.concurrency },
  });
}

/**
 * On the first start on loopback, while there is no key, one named `local` is made and kept in `.proctor/key`, readable
 * by its owner alone (contract section 3).
 *
 * @returns the local key where this directory has one.
 */
export async function ensureLocalKey(installation: Installation, host: string): Promise<string | undefined> {
  const folder = join(installation.directory, '.proctor');
  const file = join(folder, 'key');
  if (isLoopbackHost(host) && !(await installation.accounts.hasKeys())) {
    const { key } = await installation.accounts.createKey({ name: LOCAL_KEY_NAME });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(file, `${key}\n`, { mode: 0o600 });
    chmodSync(file, 0o600);
    return key;
  }
  return readKey(file);
}

/** Log lines are JSON on standard error; on a terminal only what needs attention, unless `PROCTOR_LOG_LEVEL` says otherwise. */
export function createLogger(): Logger {
  const level = process.env.PROCTOR_LOG_LEVEL ?? (process.stderr.isTTY ? 'warn' : 'info');
  return pino({ level }, pino.destination({ dest: 2, sync: true }));
}

/** Resolves with the first SIGINT or SIGTERM. A second one ends the process at once. */
export async function untilSignal(): Promise<void> {
  await new Promise<void>((resolve) => {
    const stop = () => {
      process.once('SIGINT', () => process.exit(130));
      process.off('SIGINT', stop);
      process.off('SIGTERM', stop);
      resolve();
    };
    process.on('SIGINT', stop);
    process.on('SIGTERM', stop);
  });
}

function readKey(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined; // Deleted, or the key was made elsewhere: it is shown once and never again.
  }
}
