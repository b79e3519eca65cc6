import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import { environmentMainPath } from '../client/environment-link.ts';
import { addProcessGroup, removeProcessGroup, signalGroup } from '../client/process-group.ts';
import { resolveEnvironment } from '../config/find-environments.ts';
import { loadProject } from '../config/project.ts';
import { DEFAULT_PORTS, PROCESS_VARIABLES, SHUTDOWN_GRACE_MS } from '../contract/names.ts';
import { SilentFailure, UsageError } from './failure.ts';
import { parsePort } from './options.ts';
import { note } from './terminal.ts';

export function addMcpCommand(program: Command): void {
  program
    .command('mcp <environment>')
    .description('Serve an environment to an MCP client, as it is; what the configuration of an IDE runs.')
    .addOption(new Option('--transport <transport>', 'how').choices(['stdio', 'http']).default('stdio'))
    .option('--port <port>', 'port of the http transport', parsePort, DEFAULT_PORTS.environment)
    .addHelpText(
      'after',
      `
The environment is a name, or the path of a module. Over stdio nothing but the protocol is on standard output, whatever
the environment prints. Over http a harness key is made and printed to standard error, unless PROCTOR_HARNESS_KEY is set.

Examples:
  $ proctor mcp counter
  $ proctor mcp ./environments/counter/environment.ts --transport http --port 9001`,
    )
    .action(mcp);
}

interface McpOptions {
  readonly transport: 'stdio' | 'http';
  readonly port: number;
}

async function mcp(environment: string, options: McpOptions): Promise<void> {
  const project = await loadProject();
  const { target } = resolveEnvironment(environment, project.environments, project.directory);
  if (target.kind !== 'module') {
    throw new UsageError(
      `"${environment}" is not a module: an MCP client can be pointed at its ${target.kind} as it is.`,
    );
  }
  const exitCode = await supervise(start([environmentMainPath(), target.path], options));
  if (exitCode !== 0) {
    note(`proctor: the environment ended with exit code ${exitCode}.`);
    throw new SilentFailure();
  }
}

/**
 * The process of the environment gets our standard output as a descriptor of its own, and standard error in its place:
 * even what is written to descriptor 1 on purpose cannot break the protocol.
 */
function start(args: readonly string[], { transport, port }: McpOptions): ChildProcess {
  if (transport === 'stdio') {
    const env = { ...process.env, [PROCESS_VARIABLES.protocolFd]: '3' };
    return spawn(process.execPath, args, { env, detached: true, stdio: [0, 2, 2, 1] });
  }
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    [PROCESS_VARIABLES.transport]: 'http',
    [PROCESS_VARIABLES.port]: String(port),
  };
  if (env[PROCESS_VARIABLES.harnessKey] !== undefined || env[PROCESS_VARIABLES.harnessKeyFd] !== undefined) {
    return spawn(process.execPath, args, { env, detached: true, stdio: [0, 2, 2] });
  }
  const key = randomBytes(32).toString('base64url');
  note(`Harness key: ${key}`);
  const child = spawn(process.execPath, args, {
    env: { ...env, [PROCESS_VARIABLES.harnessKeyFd]: '3' },
    detached: true,
    stdio: [0, 2, 2, 'pipe'],
  });
  const descriptor = child.stdio[3];
  descriptor?.on('error', () => {}); // It died before it read the key; how it ended is reported.
  if (descriptor && 'end' in descriptor) descriptor.end(key);
  return child;
}

/** Passes signals on, and holds the shutdown budget from outside: a blocked event loop cannot hold it itself. */
async function supervise(child: ChildProcess): Promise<number> {
  const { pid } = child;
  if (pid !== undefined) addProcessGroup(pid);
  let kill: NodeJS.Timeout | undefined;
  const pass = (signal: NodeJS.Signals) => {
    if (pid === undefined) return;
    signalGroup(pid, signal);
    kill ??= setTimeout(() => signalGroup(pid, 'SIGKILL'), SHUTDOWN_GRACE_MS.environment);
  };
  process.on('SIGTERM', pass);
  process.on('SIGINT', pass);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => resolve(toExitCode(code, signal)));
    });
  } finally {
    clearTimeout(kill);
    process.off('SIGTERM', pass);
    process.off('SIGINT', pass);
    if (pid !== undefined) {
      signalGroup(pid, 'SIGKILL');
      removeProcessGroup(pid);
    }
  }
}

/** A process that was stopped by our own request ended well. */
function toExitCode(code: number | null, signal: NodeJS.Signals | null): number {
  if (signal === 'SIGINT' || signal === 'SIGTERM') return 0;
  return code ?? 1;
}
