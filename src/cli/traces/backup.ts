import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadProject } from '../../config/project.ts';
import { backUp } from '../../database/sqlite-upkeep.ts';
import { bytesText } from '../amounts.ts';
import { UsageError } from '../failure.ts';
import { shownAddress } from '../shown-address.ts';
import { print, printJson } from '../terminal.ts';

export function addTracesBackupCommand(traces: Command): void {
  traces
    .command('backup <file>')
    .description('Copy the SQLite database (traces, queue, keys) into a new file, beside servers that run.')
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
  // Not through an installation, which would bring the schema up to date first: a backup is often made before that.
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
