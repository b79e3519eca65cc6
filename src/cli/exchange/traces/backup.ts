import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadProject } from '../../../service/config/project.ts';
import { backUp } from '../../../store/database/sqlite/sqlite-upkeep.ts';
import { bytesText } from '../../../support/text/figures.ts';
import { UsageError } from '../../base/failure.ts';
import { hereAlone } from '../../base/options.ts';
import { shownAddress } from '../../base/shown-address.ts';
import { print, printJson } from '../../base/terminal.ts';

export function addTracesBackupCommand(traces: Command): void {
  traces
    .command('backup <file>')
    .description('Copy the SQLite database (traces, queue, keys) into a new file, beside servers that run.')
    .addOption(hereAlone('A backup copies the file of the database'))
    .option('--json', 'print {"file", "bytes"}')
    .addHelpText(
      'after',
      `
The copy is the state of one moment, checked, and readable by its owner alone. To put it back: stop every server and worker,
remove proctor.db-wal and proctor.db-shm, copy the file over proctor.db, and start again. docs/deployment.md says more.

Examples:
  $ proctor traces backup /var/backups/proctor-$(date +%F).db
  $ proctor traces backup before-upgrade.db --json`,
    )
    .action(backup);
}

async function backup(name: string, { json }: { readonly json?: boolean }): Promise<void> {
  // Without `openInstallation`, which would migrate the schema: a backup is often made before a migration.
  const { settings } = await loadProject();
  const { databaseUrl } = settings;
  if (!databaseUrl.startsWith('sqlite:') || databaseUrl === 'sqlite::memory:') {
    const way = databaseUrl.startsWith('postgres')
      ? 'use its own tools: pg_dump --format=custom --file=proctor.dump "$PROCTOR_DATABASE_URL", and pg_restore'
      : 'it ends with its process';
    throw new UsageError(`The database is ${shownAddress(databaseUrl)}, which this cannot copy: ${way}.`);
  }
  const bytes = await backUp(resolve(databaseUrl.slice('sqlite:'.length)), resolve(name));
  if (json) printJson({ file: resolve(name), bytes });
  else print(`Copied ${databaseUrl} to ${name} (${bytesText(bytes)}).`);
}
