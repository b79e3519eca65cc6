import type { Command } from 'commander';
import { startOpenEnvServer } from '../../service/bridges/openenv/start.ts';
import { environmentsOf } from '../base/server-options.ts';
import { colors, print, printJson } from '../base/terminal.ts';
import { addBridgeOptions, type BridgeCommandOptions, serveBridge } from './serve-bridge.ts';

const BRIDGE = {
  defaultPort: 8000,
  keyVariable: 'PROCTOR_OPENENV_API_KEY',
  asks: 'every request and socket',
  idle: 'time without a message',
  counted: 'open',
} as const;

export function addOpenEnvCommand(program: Command): void {
  const command = program
    .command('openenv <environment>')
    .description('Serve an environment to clients of OpenEnv.')
    .option(
      '--scenario <name>',
      'the scenario that episodes play (default: the only one, or the one that reset names)',
    );
  addBridgeOptions(command, BRIDGE)
    .addHelpText(
      'after',
      `
The environment is named by its name, path or URL. Clients play episodes over the socket at /ws: reset begins one, step
calls a tool, and the tool submit_answer ends it with its reward.

Examples:
  $ proctor openenv counter --scenario count_to
  $ curl http://127.0.0.1:8000/schema`,
    )
    .action(serveOpenEnv);
}

interface OpenEnvOptions extends BridgeCommandOptions {
  readonly scenario?: string;
}

async function serveOpenEnv(named: string, { scenario, ...options }: OpenEnvOptions): Promise<void> {
  let name = named;
  await serveBridge(options, {
    ...BRIDGE,
    start(installation, common) {
      const [environment] = environmentsOf(installation, [named], 'openenv');
      if (environment === undefined) throw new Error(`There is no environment ${named}`);
      [name] = environment;
      return startOpenEnvServer({ ...common, environment, scenario });
    },
    print({ url, scenarios }) {
      if (options.json) return printJson({ url, environment: name, scenarios });
      print(`${colors.bold('OpenEnv server')}  ${url}`);
      print(`${colors.bold('Environment')}     ${name}`);
      print(`${colors.bold('Scenarios')}       ${scenarios.join(', ')}`);
    },
  });
}
