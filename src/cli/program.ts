import { Command, CommanderError } from 'commander';
import { PROCTOR_VERSION } from '../support/runtime/version.ts';
import { describeFailure, EXIT, exitCodeOf } from './base/failure.ts';
import { ignoreClosedOutputs, note } from './base/terminal.ts';
import { COMMANDS } from './commands.ts';

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
  if (thrown instanceof CommanderError) {
    if (isUnknownService(thrown)) note(await describeService());
    process.exitCode = thrown.exitCode === 0 ? 0 : EXIT.usage;
  } else {
    const message = describeFailure(thrown);
    if (message !== undefined) note(`proctor: ${message}`);
    process.exitCode = exitCodeOf(thrown);
  }
}

function isUnknownService({ code, message }: CommanderError): boolean {
  return code === 'commander.unknownOption' && /'--service(=|')/.test(message);
}

/** Lists the commands with `--service`, for the error of one without it. */
async function describeService(): Promise<string> {
  const all = new Command();
  for (const load of Object.values(COMMANDS)) (await load())(all);
  const names = all.commands.flatMap((command) => withService(command, command.name()));
  return `This command works on this directory alone. These know --service: ${names.join(', ')}.`;
}

/** The command if it has the option, otherwise its sub-commands with the option. */
function withService(command: Command, name: string): readonly string[] {
  if (command.options.some(({ long, hidden }) => long === '--service' && !hidden)) return [name];
  return command.commands.flatMap((sub) => withService(sub, `${name} ${sub.name()}`));
}

/** Adds the named command, or all of them for the help and for an unknown name. */
async function addCommands(named: string | undefined): Promise<void> {
  if (named === '--version' || named === '-V') return;
  const known = named !== undefined && Object.hasOwn(COMMANDS, named) ? COMMANDS[named] : undefined;
  for (const load of known === undefined ? Object.values(COMMANDS) : [known]) (await load())(program);
}
