import type { Command } from 'commander';
import type { BridgeServerOptions } from '../bridges/bridge-server-options.ts';
import { type Installation, openInstallation } from './installation.ts';
import { createLogger } from './logger.ts';
import { parsePort, wholeNumber } from './options.ts';
import { addPoolOptions, type PoolCommandOptions } from './pool-options.ts';
import { fromVariable, parseKey, parseTtl } from './server-options.ts';
import { naming } from './service.ts';
import { listenForStop, untilStopped } from './signals.ts';
import { startTelemetry } from './telemetry.ts';
import { note } from './terminal.ts';

/** A command that serves environments over the protocol of others, until it is stopped. */
export interface Bridge<Server> {
  readonly defaultPort: number;
  /** Environment variable of its key. */
  readonly keyVariable: string;
  /** Callers that need the key, for the help: `every request`. */
  readonly asks: string;
  /** Time that ends a session, for the help: `idle time`. */
  readonly idle: string;
  /** Sessions that `--max-sessions` counts, for the help: `active`. */
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

/** The options that all of them have. */
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
    ...{ database, store, models, directory },
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
