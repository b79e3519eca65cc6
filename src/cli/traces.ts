import type { Command } from 'commander';
import { addTracesBackupCommand } from './traces/backup.ts';
import { addTracesListCommand } from './traces/list.ts';
import { addTracesPruneCommand } from './traces/prune.ts';
import { addTracesShowCommand } from './traces/show.ts';

export function addTracesCommand(program: Command): void {
  const traces = program
    .command('traces')
    .description('List and show traces, delete old ones, and back them up.')
    .addHelpText(
      'after',
      `
They are read from the database of this directory (PROCTOR_DATABASE_URL), of every account, whether a server runs or not.

Examples:
  $ proctor traces list --env counter --status failed --since 7d
  $ proctor traces show 4bf92f3577b34da6a3ce929d0e0e4736
  $ proctor traces prune --older-than 30d --dry-run
  $ proctor traces prune --older-than 30d --keep-last 1000 --yes
  $ proctor traces backup /var/backups/proctor.db`,
    );
  addTracesListCommand(traces);
  addTracesShowCommand(traces);
  addTracesPruneCommand(traces);
  addTracesBackupCommand(traces);
}
