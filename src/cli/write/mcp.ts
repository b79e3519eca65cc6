import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { DEFAULT_PORTS, PROCESS_VARIABLES, SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import { toChildVariables } from '../../environment/process/child-variables.ts';
import { addProcessGroup, removeProcessGroup, signalGroup } from '../../environment/process/process-group.ts';
import { takeHarnessKey } from '../../environment/server/harness-key.ts';
import { resolveEnvironment } from '../../service/config/find-environments.ts';
import { loadProject } from '../../service/config/project.ts';
import { builtFile } from '../../support/runtime/built-file.ts';
import { SilentFailure, UsageError } from '../base/failure.ts';
import { oneOf, parsePort } from '../base/options.ts';
import { note } from '../base/terminal.ts';

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
  const { target } = resolveEnvironment(environment, project.environments, project.directory, project.settings.sandbox);
  if (target.kind !== 'module') {
    throw new UsageError(
      `"${environment}" is not a module: an MCP client can be pointed at its ${target.kind} as it is.`,
    );
  }
  const end = await supervise(start(target, options));
  if (end === undefined) return;
  note(`proctor: the environment ${end}.`);
  throw new SilentFailure();
}

/**
 * The environment's process gets our standard output as a separate descriptor, and standard error as descriptor 1. So
 * nothing that it prints can break the protocol. A harness key travels on a further descriptor.
 */
function start({ path, env }: ModuleTarget, { transport, port }: McpOptions): ChildProcess {
  const args = [builtFile('environment/server/start/environment-main.js'), path];
  const isHttp = transport !== 'stdio';
  const given = takeHarnessKey(undefined);
  const key = given ?? (isHttp ? randomBytes(32).toString('base64url') : undefined);
  if (key !== given) note(`Harness key: ${key}`);
  const child = spawn(process.execPath, args, {
    env: {
      ...environmentVariables(env),
      [PROCESS_VARIABLES.transport]: transport,
      [PROCESS_VARIABLES.port]: String(port),
      ...(isHttp ? {} : { [PROCESS_VARIABLES.protocolFd]: '3' }),
      ...(key === undefined ? {} : { [PROCESS_VARIABLES.harnessKeyFd]: '4' }),
    },
    detached: true,
    stdio: [isHttp ? 'ignore' : 0, 2, 2, isHttp ? 'ignore' : 1, key === undefined ? 'ignore' : 'pipe'],
  });
  const descriptor = child.stdio[4];
  descriptor?.on('error', () => {}); // The process died before it read the key; its exit is reported.
  if (descriptor && 'end' in descriptor) descriptor.end(key);
  return child;
}

type ModuleTarget = Extract<EnvironmentTarget, { kind: 'module' }>;

/** The variables of a run, and the host names that a server of the environment accepts. */
export function environmentVariables(added: ModuleTarget['env']): Record<string, string> {
  const { PROCTOR_ALLOWED_HOSTS: hosts } = process.env;
  return { ...toChildVariables(process.env, added), ...(hosts === undefined ? {} : { PROCTOR_ALLOWED_HOSTS: hosts }) };
}

/**
 * Forwards signals, and enforces the shutdown budget even if the event loop of the environment is blocked. A closed
 * terminal (SIGHUP) ends the environment like SIGTERM.
 *
 * @returns a description of an abnormal end.
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
    if (code === 0 || kill !== undefined) return undefined; // Our own signal ended it.
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

const PASSED_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/** Milliseconds after which the process is killed. The environment normally enforces its budget itself. */
const KILL_AFTER_MS = SHUTDOWN_GRACE_MS.environment + 500;
