import type { Command } from 'commander';
import { addDoctorCommand } from './agents/doctor.ts';
import { addListCommand } from './agents/list.ts';

export function addAgentsCommand(program: Command): void {
  const agents = program
    .command('agents')
    .description('List the agents that Proctor can start, and test whether they work on this machine.')
    .addHelpText(
      'after',
      `
An agent is a program with a loop of its own. The known ones are claude, codex, gemini and opencode, where they are installed.
Others have a name under "agents" of proctor.config.ts, or are given as "acp:<command>".

Examples:
  $ proctor agents list
  $ proctor agents doctor codex
  $ proctor run counter count_to --arg target=3 --agent codex --model gpt-5`,
    );
  addListCommand(agents);
  addDoctorCommand(agents);
}
