import { loadCommands } from '../../scripts/reference/commands.ts';

const all = loadCommands();

/** The help of a command, without a process for each. @throws Error for a command that does not exist. */
export async function helpOf(...words: readonly string[]): Promise<string> {
  let command = await all;
  for (const word of words) {
    const next = command.commands.find((sub) => sub.name() === word || sub.aliases().includes(word));
    if (next === undefined) throw new Error(`There is no command "proctor ${words.join(' ')}"`);
    command = next;
  }
  return command.helpInformation();
}
