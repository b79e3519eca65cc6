import type { Command } from 'commander';
import { startOrsServer } from '../../service/bridges/ors/start.ts';
import { environmentsOf } from '../base/server-options.ts';
import { colors, print, printJson } from '../base/terminal.ts';
import { addBridgeOptions, type BridgeCommandOptions, serveBridge } from './serve-bridge.ts';

const BRIDGE = {
  defaultPort: 8080,
  keyVariable: 'PROCTOR_ORS_API_KEY',
  asks: 'every request',
  idle: 'idle time',
  counted: 'active',
} as const;

export function addOrsCommand(program: Command): void {
  const command = program
    .command('ors [environments...]')
    .description('Serve scenarios as environments of the Open Reward Standard (ORS).');
  addBridgeOptions(command, BRIDGE)
    .addHelpText(
      'after',
      `
Environments are named by their names, paths or URLs; without any, all of this directory are served. Each scenario is an
environment of ORS, its tasks are in splits, and the tool submit_answer ends an episode with its reward.

Examples:
  $ proctor ors counter
  $ curl http://127.0.0.1:8080/list_environments`,
    )
    .action(serveOrs);
}

async function serveOrs(named: readonly string[], options: BridgeCommandOptions): Promise<void> {
  await serveBridge(options, {
    ...BRIDGE,
    start: (installation, common) =>
      startOrsServer({ ...common, environments: environmentsOf(installation, named, 'ors') }),
    print({ url, names }) {
      if (options.json) return printJson({ url, environments: names });
      print(`${colors.bold('ORS server')}    ${url}`);
      print(`${colors.bold('Environments')}  ${names.join(', ')}`);
    },
  });
}
