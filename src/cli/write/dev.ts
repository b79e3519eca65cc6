import { type Command, Option } from 'commander';
import { DEFAULT_PORTS } from '../../contract/names.ts';
import { develop } from '../../environment/dev/develop.ts';
import { takeHarnessKey } from '../../environment/server/harness-key.ts';
import { resolveEnvironment } from '../../service/config/find-environments.ts';
import { loadProject } from '../../service/config/project.ts';
import { UsageError } from '../base/failure.ts';
import { parsePort } from '../base/options.ts';
import { note } from '../base/terminal.ts';
import { environmentVariables } from './mcp.ts';

export function addDevCommand(program: Command): void {
  program
    .command('dev <environment>')
    .description('Serve an environment while you write it. Clients stay connected when its files change.')
    .addOption(new Option('--transport <transport>', 'how').choices(['http', 'stdio']).default('http'))
    .option('--port <port>', 'port of the http transport', parsePort, DEFAULT_PORTS.environment)
    .addHelpText(
      'after',
      `
The environment is a name, or the path of a module. When its files are saved the new version takes over: clients keep
their connection and their session and are told that tools, prompts and resources have changed. What the fields of the
old instance held, and an active scenario, are lost. A version that cannot be loaded is reported, and the one before
keeps serving. Shutdown hooks run on SIGTERM alone, not on reload and not on Ctrl-C.
Over http a harness key is made and printed to standard error, unless PROCTOR_HARNESS_KEY is set.

Examples:
  $ proctor dev counter
  $ proctor dev ./environments/counter/environment.ts --port 9001
  $ proctor dev counter --transport stdio`,
    )
    .action(dev);
}

interface DevOptions {
  readonly transport: 'http' | 'stdio';
  readonly port: number;
}

async function dev(environment: string, { transport, port }: DevOptions): Promise<void> {
  const project = await loadProject();
  const { target } = resolveEnvironment(environment, project.environments, project.directory, project.settings.sandbox);
  if (target.kind !== 'module') {
    throw new UsageError(`"${environment}" is not a module: only what is started from its file can be reloaded.`);
  }
  const stop = new AbortController();
  // Handles a closed terminal (SIGHUP) like SIGTERM. Otherwise the environment would keep running.
  const hangUp = () => process.kill(process.pid, 'SIGTERM');
  const interrupt = () => (stop.signal.aborted ? process.exit(EXIT_INTERRUPTED) : stop.abort());
  process.on('SIGHUP', hangUp);
  process.on('SIGINT', interrupt);
  await develop({
    path: target.path,
    transport,
    port,
    harnessKey: takeHarnessKey(undefined),
    variables: environmentVariables(target.env),
    say: note,
    signal: stop.signal,
  });
  process.exit(0);
}

const EXIT_INTERRUPTED = 130;
