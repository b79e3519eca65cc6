#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { PROCTOR_VERSION } from '../contract/version.ts';
import { describeFailure, EXIT, exitCodeOf, SilentFailure } from './failure.ts';
import { ignoreClosedOutputs, note } from './terminal.ts';

/** In the order of the help. Each is loaded when it is named, since most of what it stands on is of no use to the others. */
const COMMANDS: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  init: async () => (await import('./init.ts')).addInitCommand,
  run: async () => (await import('./run.ts')).addRunCommand,
  chat: async () => (await import('./chat.ts')).addChatCommand,
  serve: async () => (await import('./serve.ts')).addServeCommand,
  worker: async () => (await import('./worker.ts')).addWorkerCommand,
  scenarios: async () => (await import('./scenarios.ts')).addScenariosCommand,
  open: async () => (await import('./open.ts')).addOpenCommand,
  keys: async () => (await import('./keys.ts')).addKeysCommand,
  traces: async () => (await import('./traces.ts')).addTracesCommand,
  dev: async () => (await import('./dev.ts')).addDevCommand,
  mcp: async () => (await import('./mcp.ts')).addMcpCommand,
  doctor: async () => (await import('./doctor.ts')).addDoctorCommand,
  demo: async () => (await import('./demo.ts')).addDemoCommand,
};

ignoreClosedOutputs();
const program = new Command('proctor')
  .description('Host environments for agents over MCP, run their scenarios, grade, and keep the trace.')
  .version(PROCTOR_VERSION)
  .showHelpAfterError('(proctor --help and proctor <command> --help say more)')
  .exitOverride();

try {
  await addCommands(process.argv[2]);
  await program.parseAsync();
} catch (thrown) {
  if (thrown instanceof CommanderError) process.exitCode = thrown.exitCode === 0 ? 0 : EXIT.usage;
  else {
    if (!(thrown instanceof SilentFailure)) note(`proctor: ${describeFailure(thrown)}`);
    process.exitCode = exitCodeOf(thrown);
  }
}

/** The command that is named, or every one for the help and for what is none. */
async function addCommands(named: string | undefined): Promise<void> {
  if (named === '--version' || named === '-V') return;
  const known = named !== undefined && Object.hasOwn(COMMANDS, named) ? COMMANDS[named] : undefined;
  for (const load of known === undefined ? Object.values(COMMANDS) : [known]) (await load())(program);
}
