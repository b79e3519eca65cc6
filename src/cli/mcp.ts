import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { resolveEnvironment } from '../config/find-environments.ts';
import { loadProject } from '../config/project.ts';
import { DEFAULT_PORTS, PROCESS_VARIABLES, SHUTDOWN_GRACE_MS } from '../contract/names.ts';
import { takeHarnessKey } from '../mcp/harness-key.ts';
import { addProcessGroup, removeProcessGroup, signalGroup } from '../process/process-group.ts';
import { builtFile } from '../runtime/built-file.ts';
import { SilentFailure, UsageError } from './failure.ts';
import { oneOf, parsePort } from './options.ts';
import { note } from './terminal.ts';

export function addMcpCommand(program: Command): void {
  program
    .command('mcp <environment>')
    .description('Serve an environment to an MCP client, such as an IDE.')
    .option('--transport <transport>', 'stdio, http or sse', oneOf(['stdio', 'http', 'sse']), 'stdio')
    .option('--port <port>', 'port of the http and sse transports', parsePort, DEFAULT_PORTS.environment)
    .addHelpText(
      'after',
      `
The environment is a name, or the path of a module. Over stdio nothing but the protocol is on standard output, whatever
the environment prints. Over http a harness key is made and printed to standard error, unless PROCTOR_HARNESS_KEY is set;
sse is http with the deprecated pair of /sse and /messages beside /mcp. Both have development helpers at /svc.
SIGTERM runs the shutdown hooks of the environment; Ctrl-C ends it without them.

Examples:
  $ proctor mcp counter
  $ proctor mcp ./environments/counter/environment.ts --transport http --port 9001`,
    )
    .action(mcp);
}

interface McpOptions {
  readonly transport: 'stdio' | 'http' | 'sse';
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
  const end = await supervise(start([builtFile('mcp/environment-main.js'), target.path], options));
  if (end === undefined) return;
  note(`proctor: the environment ${end}.`);
  throw new SilentFailure();
}

/**
 * The process of the environment gets our standard output as a descriptor of its own, and standard error in its place:
 * even what is written to descriptor 1 on purpose cannot break the protocol. A harness key travels on another.
 */
function start(args: readonly string[], { transport, port }: McpOptions): ChildProcess {
  const isHttp = transport !== 'stdio';
  const given = takeHarnessKey(undefined);
  const key = given ?? (isHttp ? randomBytes(32).toString('base64url') : undefined);
  if (key !== given) note(`Harness key: ${key}`);
  const child = spawn(process.execPath, args, {
    env: {
      ...environmentVariables(),
      [PROCESS_VARIABLES.transport]: transport,
      [PROCESS_VARIABLES.port]: String(port),
      ...(isHttp ? {} : { [PROCESS_VARIABLES.protocolFd]: '3' }),
      ...(key === undefined ? {} : { [PROCESS_VARIABLES.harnessKeyFd]: '4' }),
    },
    detached: true,
    stdio: [isHttp ? 'ignore' : 0, 2, 2, isHttp ? 'ignore' : 1, key === undefined ? 'ignore' : 'pipe'],
  });
  const descriptor = child.stdio[4];
  descriptor?.on('error', () => {}); // It died before it read the key; how it ended is reported.
  if (descriptor && 'end' in descriptor) descriptor.end(key);
  return child;
}

/** All of ours but those of Proctor, the keys of gateway and service among them: an IDE gives tools their own keys. */
export function environmentVariables(): Record<string, string> {
  const isForChild = (name: string) => !name.startsWith('PROCTOR_') || PASSED_ON.has(name);
  const variables = Object.entries(process.env).filter(([name]) => isForChild(name));
  return Object.fromEntries(variables.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/**
 * Passes signals on, and holds the shutdown budget from outside: a blocked event loop cannot hold it itself. A terminal
 * that is closed (SIGHUP) ends the environment as SIGTERM does; it would be left alone otherwise.
 *
 * @returns how it ended, in words, where that was not in order.
 */
async function supervise(child: ChildProcess): Promise<string | undefined> {
  const { pid } = child;
  if (pid !== undefined) addProcessGroup(pid);
  let kill: NodeJS.Timeout | undefined;
  let isKilled = false;
  const pass = (signal: NodeJS.Signals) => {
    if (pid === undefined) return;
    signalGroup(pid, signal === 'SIGHUP' ? 'SIGTERM' : signal);
    kill ??= setTimeout(() => {
      isKilled = true;
      signalGroup(pid, 'SIGKILL');
    }, KILL_AFTER_MS);
  };
  for (const signal of PASSED_SIGNALS) process.on(signal, pass);
  try {
    const { code, signal } = await new Promise<Exit>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    if (isKilled) return `did not end within ${KILL_AFTER_MS / 1_000} s of the signal and was killed`;
    if (code === 0 || kill !== undefined) return undefined; // Ended by our own signal, as intended.
    return code === null ? `was ended by ${signal}` : `ended with exit code ${code}`;
  } finally {
    clearTimeout(kill);
    for (const signal of PASSED_SIGNALS) process.off(signal, pass);
    if (pid !== undefined) {
      signalGroup(pid, 'SIGKILL');
      removeProcessGroup(pid);
    }
  }
}

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const PASSED_ON: ReadonlySet<string> = new Set(['PROCTOR_ALLOWED_HOSTS', 'PROCTOR_CHROMIUM']);
const PASSED_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/** The environment holds the budget by itself where it can; this is for when it cannot. */
const KILL_AFTER_MS = SHUTDOWN_GRACE_MS.environment + 500;
