import type { Command } from 'commander';
import { LOCAL_ACCOUNT } from '../../contract/names.ts';
import { loadProject } from '../../service/config/project.ts';
import type { Accounts, ApiKeyEntry } from '../../store/accounts/accounts.ts';
import { createAccounts } from '../../store/accounts/database-accounts.ts';
import { openDatabase } from '../../store/database/open-database.ts';
import { UsageError } from '../base/failure.ts';
import { hereAlone, wholeNumber } from '../base/options.ts';
import { colors, note, print, printJson, printTable } from '../base/terminal.ts';

export function addKeysCommand(program: Command): void {
  const keys = program
    .command('keys')
    .description('Make, list and revoke the API keys of the run service.')
    .addHelpText(
      'after',
      `
Keys are made where the database of the service is, by somebody who may read it: no key makes another one over HTTP.

Examples:
  $ proctor keys create --name ci
  $ proctor keys create --name alice --account team --concurrent-runs 4 --json
  $ proctor keys list
  $ proctor keys revoke ci`,
    );

  keys
    .command('create')
    .description('Make a key. It is shown this once and stored hashed.')
    .requiredOption('--name <name>', 'its name')
    .option('--account <account>', 'the account whose runs it sees', LOCAL_ACCOUNT)
    .option('--requests-per-minute <count>', 'requests in a minute', wholeNumber(1))
    .option('--concurrent-runs <count>', 'runs at once', wholeNumber(1))
    .option('--json', 'print {id, name, account, key}')
    .addOption(hereAlone(HERE_ALONE))
    .action(createKey);

  keys
    .command('list')
    .description('List the keys, without their secrets.')
    .option('--json', 'print a JSON array')
    .addOption(hereAlone(HERE_ALONE))
    .action(listKeys);

  keys
    .command('revoke <name-or-id>')
    .description('Revoke a key; every process refuses it within 5 s.')
    .option('--json', 'print the key')
    .addOption(hereAlone(HERE_ALONE))
    .action(revokeKey);
}

const HERE_ALONE = 'Keys are made, listed and revoked where the database of the service is: no key makes another one';

/** Opens the keys of this directory's database. */
async function openAccounts(): Promise<AsyncDisposable & { readonly accounts: Accounts }> {
  const { settings } = await loadProject();
  const database = await openDatabase(settings.databaseUrl);
  return { accounts: createAccounts(database), [Symbol.asyncDispose]: () => database.close() };
}

interface CreateOptions {
  readonly name: string;
  readonly account: string;
  readonly requestsPerMinute?: number;
  readonly concurrentRuns?: number;
  readonly json?: boolean;
}

async function createKey(options: CreateOptions): Promise<void> {
  await using opened = await openAccounts();
  const { json, ...key } = options;
  const created = await opened.accounts.createKey(key);
  if (json) return printJson(created);
  print(created.key);
  note(colors.dim(`Key "${created.name}" of account "${created.account}". It is not shown again.`));
}

async function listKeys({ json }: { readonly json?: boolean }): Promise<void> {
  await using opened = await openAccounts();
  const keys = await opened.accounts.listKeys();
  if (json) return printJson(keys.map(toWire));
  if (keys.length === 0) return note('No keys yet. "proctor keys create --name NAME" makes one.');
  printTable([
    ['ID', 'NAME', 'ACCOUNT', 'CREATED', 'PER MINUTE', 'CONCURRENT', 'STATE'],
    ...keys.map((key) => [
      key.id,
      key.name,
      key.account,
      key.createdAt,
      String(key.requestsPerMinute ?? '-'),
      String(key.concurrentRuns ?? '-'),
      key.revokedAt === null ? 'in force' : `revoked ${key.revokedAt}`,
    ]),
  ]);
}

/** Converts a key to the field names of the JSON API. */
function toWire(key: ApiKeyEntry) {
  return {
    id: key.id,
    name: key.name,
    account: key.account,
    requests_per_minute: key.requestsPerMinute,
    concurrent_runs: key.concurrentRuns,
    created_at: key.createdAt,
    revoked_at: key.revokedAt,
  };
}

async function revokeKey(nameOrId: string, { json }: { readonly json?: boolean }): Promise<void> {
  await using opened = await openAccounts();
  const key = await opened.accounts.revokeKey(nameOrId);
  if (key === undefined)
    throw new UsageError(`There is no key in force called "${nameOrId}". "proctor keys list" shows them.`);
  if (json) return printJson(toWire(key));
  print(`Revoked ${key.name} (${key.id}).`);
}
