#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { PROCTOR_VERSION } from '../contract/version.ts';
import { addDemoCommand } from './demo.ts';
import { addDevCommand } from './dev.ts';
import { describeFailure, EXIT, exitCodeOf, SilentFailure } from './failure.ts';
import { addInitCommand } from './init.ts';
import { addKeysCommand } from './keys.ts';
import { addMcpCommand } from './mcp.ts';
import { addOpenCommand } from './open.ts';
import { addRunCommand } from './run.ts';
import { addServeCommand } from './serve.ts';
import { ignoreClosedOutputs, note } from './terminal.ts';

ignoreClosedOutputs();
const program = new Command('proctor')
  .description('Host environments for agents over MCP, run their scenarios, grade, and keep the trace.')
  .version(PROCTOR_VERSION)
  .showHelpAfterError('(proctor --help and proctor <command> --help say more)')
  .exitOverride();

addInitCommand(program);
addRunCommand(program);
addServeCommand(program);
addOpenCommand(program);
addKeysCommand(program);
addDevCommand(program);
addMcpCommand(program);
addDemoCommand(program);

try {
  await program.parseAsync();
} catch (thrown) {
  if (thrown instanceof CommanderError) process.exitCode = thrown.exitCode === 0 ? 0 : EXIT.usage;
  else {
    if (!(thrown instanceof SilentFailure)) note(`proctor: ${describeFailure(thrown)}`);
    process.exitCode = exitCodeOf(thrown);
  }
}
