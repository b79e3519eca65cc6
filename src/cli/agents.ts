import type { Command } from 'commander';
import { addDoctorCommand } from './agents/doctor.ts';
import { addListCommand } from './agents/list.ts';

export function addAgentsCommand(program: Command): void {
  const agents = program
    .command('agents')
    .description('List the agents that play as commands, and try whether they work here.')
    .addHelpText(
      'after',
      `
An agent is a program with a loop of its own. claude, codex, gemini and opencode are known when their commands are
installed; others have a name under "agents" of proctor.config.ts, or are given as "acp:<command>".

Examples:
  $ proctor agents list
  $ proctor agents doctor codex
  $ proctor run counter count_to --arg target=3 --agent codex --model gpt-5`,
    );
  addListCommand(agents);
  addDoctorCommand(agents);
}
