import type { Command } from 'commander';
import { messageOf } from '../../../contract/errors.ts';
import { KNOWN_AGENTS } from '../../../rollout/agents/agent-definition.ts';
import { sandboxProblem } from '../../../rollout/agents/sandbox.ts';
import { loadProject } from '../../../service/config/project.ts';
import { colors, note, printable, printJson, printTable } from '../../base/terminal.ts';

export function addListCommand(agents: Command): void {
  agents
    .command('list')
    .description('List the agents of the configuration, and those known ones that are installed.')
    .option('--json', 'print {sandbox, agents}')
    .action(list);
}

async function list({ json = false }: { readonly json?: boolean }): Promise<void> {
  const { agents } = await loadProject();
  const problem = await sandboxProblem();
  const rows = agents.names.map((name) => {
    try {
      const { command, protocol, needs, version } = agents.find(name);
      return { name, version, protocol, needs, command, problem: null };
    } catch (error) {
      return { name, version: null, protocol: null, needs: null, command: null, problem: messageOf(error) };
    }
  });
  if (json) {
    printJson({ sandbox: problem === undefined, agents: rows });
    return;
  }
  if (rows.length === 0) {
    note(`There are no agents here: ${KNOWN_AGENTS.join(', ')} are known by name when they are installed.`);
  } else {
    printTable([
      ['NAME', 'VERSION', 'PROTOCOL', 'MODEL', 'COMMAND'],
      ...rows.map((row) => [
        printable(row.name),
        row.version ?? '-',
        row.protocol ?? '-',
        row.needs === 'none' ? 'its own' : (row.needs ?? '-'),
        row.command === null ? printable(row.problem ?? '') : printable(row.command.join(' '), 80),
      ]),
    ]);
  }
  if (problem !== undefined) note(colors.yellow(`They run without a sandbox: ${problem}.`));
}
