import type { Command } from 'commander';
import { addTracesBackupCommand } from './traces/backup.ts';
import { addTracesDeleteCommand } from './traces/delete.ts';
import { addTracesListCommand } from './traces/list.ts';
import { addTracesPruneCommand } from './traces/prune.ts';
import { addTracesShowCommand } from './traces/show.ts';

export function addTracesCommand(program: Command): void {
  const traces = program
    .command('traces')
    .description('List, show, prune and back up traces.')
    .addHelpText(
      'after',
      `
list, show and delete are about the traces of one account. They use the database of this directory (PROCTOR_DATABASE_URL),
whether a server runs or not. With --service they ask a run service.
prune and backup keep the database itself in order, with the traces of every account: they work where it is.

Examples:
  $ proctor traces list --env counter --status failed --since 7d
  $ proctor traces show 4bf92f3577b34da6a3ce929d0e0e4736
  $ proctor traces list --service https://proctor.example
  $ proctor traces prune --older-than 30d --dry-run
  $ proctor traces prune --older-than 30d --keep-last 1000 --yes
  $ proctor traces backup /var/backups/proctor.db`,
    );
  addTracesListCommand(traces);
  addTracesShowCommand(traces);
  addTracesDeleteCommand(traces);
  addTracesPruneCommand(traces);
  addTracesBackupCommand(traces);
}
