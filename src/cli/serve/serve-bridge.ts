import type { Command } from 'commander';
import type { BridgeServerOptions } from '../../service/bridges/bridge-server-options.ts';
import { type Installation, openInstallation } from '../../service/runs/installation.ts';
import { createLogger } from '../base/logger.ts';
import { parsePort, wholeNumber } from '../base/options.ts';
import { addPoolOptions, type PoolCommandOptions } from '../base/pool-options.ts';
import { fromVariable, parseKey, parseTtl } from '../base/server-options.ts';
import { naming } from '../base/service.ts';
import { listenForStop, untilStopped } from '../base/signals.ts';
import { startTelemetry } from '../base/telemetry.ts';
import { note } from '../base/terminal.ts';

/** A command that serves environments over another protocol until it is stopped. */
export interface Bridge<Server> {
  readonly defaultPort: number;
  /** Environment variable with the key. */
  readonly keyVariable: string;
  /** Text for the help: the requests that need the key, such as `every request`. */
  readonly asks: string;
  /** Text for the help: the time after which a session ends, such as `idle time`. */
  readonly idle: string;
  /** Text for the help: the sessions that `--max-sessions` counts, such as `active`. */
  readonly counted: string;
  start(installation: Installation, options: BridgeServerOptions): Promise<Server>;
  print(server: Server): void;
}

export interface BridgeCommandOptions extends PoolCommandOptions {
  readonly taskset?: string;
  readonly port?: number;
  readonly host: string;
  readonly apiKey?: string;
  readonly sessionTtlMs?: number;
  readonly maxSessions?: number;
  readonly json?: boolean;
}

/** Adds the options that all bridges share. */
export function addBridgeOptions<Server>(command: Command, bridge: Omit<Bridge<Server>, 'start' | 'print'>): Command {
  const { defaultPort, keyVariable, asks, idle, counted } = bridge;
  command
    .option('--taskset <name>', 'its tasks, in place of those that the scenarios declare')
    .option('--port <port>', `port to listen on (default ${defaultPort})`, parsePort)
    .option('--host <host>', 'address to bind; beyond loopback only with --api-key', '127.0.0.1')
    .option('--api-key <key>', `asked of ${asks} (default: ${keyVariable}, or none)`, parseKey)
    .option('--session-ttl-ms <ms>', `${idle} after which a session is ended (default 900000)`, parseTtl)
    .option('--max-sessions <count>', `${counted} at a time (default 1000)`, wholeNumber(1));
  return addPoolOptions(command).option('--json', 'print one JSON object once it listens');
}

export async function serveBridge<Server extends { close(): Promise<void> }>(
  { json: _, ...options }: BridgeCommandOptions,
  { defaultPort, keyVariable, start, print }: Pick<Bridge<Server>, 'defaultPort' | 'keyVariable' | 'start' | 'print'>,
): Promise<void> {
  using stop = listenForStop(() => note('Stopping. Once more ends it at once.'));
  await using installation = await openInstallation();
  await using _telemetry = await startTelemetry({ ...installation, stop: stop.signal, warn: note });
  const { settings, database, store, models, redactor, directory } = installation;
  const starting = start(installation, {
    ...options,
    database,
    store,
    models,
    directory,
    port: options.port ?? defaultPort,
    apiKey: options.apiKey ?? fromVariable(keyVariable, parseKey),
    allowedHosts: settings.allowedHosts,
    logger: createLogger(process.stderr.isTTY ? 'warn' : 'info', redactor),
  });
  const server = await naming('--port', starting);
  try {
    print(server);
    await untilStopped(stop.signal);
  } finally {
    await server.close();
  }
}
