import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Client } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';
import type { HostConnection } from '../../../src/environment/process/host-connection.ts';
import { type HostGauges, HostProcess } from '../../../src/environment/process/host-process.ts';
import { connect, HARNESS } from '../server/clients.ts';

const MAIN = fileURLToPath(new URL('../../../dist/environment/server/start/environment-main.js', import.meta.url));
export const HOSTED = fileURLToPath(new URL('./fixtures/hosted.ts', import.meta.url));
export const PATIENCE = { timeout: 120_000 } as const;

export interface HostSetting {
  readonly module?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly sessionsPerProcess?: number;
  readonly silenceMs?: number;
}

export interface TestHost {
  readonly host: HostProcess;
  /** Lines of the log of the process. */
  readonly log: string[];
  readonly gauges: HostGauges[];
}

/** A host that has not been started. Closed when the test ends. */
export function makeHost({ module = HOSTED, env = {}, sessionsPerProcess, silenceMs }: HostSetting = {}): TestHost {
  const log: string[] = [];
  const gauges: HostGauges[] = [];
  const host = new HostProcess({
    command: process.execPath,
    args: [MAIN, module],
    variables: { PATH: process.env.PATH ?? '', ...env },
    folders: [],
    sessionsPerProcess,
    silenceMs,
    onLog: ({ message }) => log.push(message),
    onGauges: (each) => gauges.push(each),
  });
  onTestFinished(() => host.close());
  return { host, log, gauges };
}

export async function startHost(setting?: HostSetting): Promise<TestHost> {
  const made = makeHost(setting);
  await made.host.start();
  return made;
}

export interface TestSession {
  readonly client: Client;
  readonly connection: HostConnection;
  /** Lines that the code of the session printed. */
  readonly printed: string[];
}

/** A harness in a session of its own, which its initialize hook is told the name of. */
export async function openSession(
  host: HostProcess,
  name: string,
  { key = createKey(), isShuttingDown }: { readonly key?: string; readonly isShuttingDown?: () => boolean } = {},
): Promise<TestSession> {
  const printed: string[] = [];
  const onLog = ({ message }: { readonly message: string }) => printed.push(message);
  const connection = host.connect({ session: name, harnessKey: key, onLog, isShuttingDown });
  const client = await connect(connection, { meta: { ...HARNESS, 'svc/harness_key': key, name } });
  return { client, connection, printed };
}

export function createKey(): string {
  return `hk_${randomBytes(32).toString('base64url')}`;
}
