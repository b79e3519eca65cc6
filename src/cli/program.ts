import { Command, CommanderError } from 'commander';
import { PROCTOR_VERSION } from '../runtime/version.ts';
import { COMMANDS } from './commands.ts';
import { describeFailure, EXIT, exitCodeOf } from './failure.ts';
import { ignoreClosedOutputs, note } from './terminal.ts';

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
    const message = describeFailure(thrown);
    if (message !== undefined) note(`proctor: ${message}`);
    process.exitCode = exitCodeOf(thrown);
  }
}

/** The command that is named, or every one for the help and for what is none. */
async function addCommands(named: string | undefined): Promise<void> {
  if (named === '--version' || named === '-V') return;
  const known = named !== undefined && Object.hasOwn(COMMANDS, named) ? COMMANDS[named] : undefined;
  for (const load of known === undefined ? Object.values(COMMANDS) : [known]) (await load())(program);
}
