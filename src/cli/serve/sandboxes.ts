import type { Command } from 'commander';
import { messageOf } from '../../contract/errors.ts';
import type { Engine, EngineName, SandboxRecord } from '../../environment/sandbox/engine.ts';
import { NO_OWNER, openEngine } from '../../environment/sandbox/open-engine.ts';
import { removeLeftOver, stateOfHolder } from '../../environment/sandbox/sessions/left-over.ts';
import { loadProject } from '../../service/config/project.ts';
import type { Settings } from '../../service/config/settings.ts';
import { countText, durationText } from '../../support/text/figures.ts';
import { SilentFailure } from '../base/failure.ts';
import { hereAlone } from '../base/options.ts';
import { colors, note, print, printable, printJson, printTable } from '../base/terminal.ts';

/** Milliseconds for an engine to answer. */
const ENGINE_MS = 45_000;
const MEBIBYTE = 1024 ** 2;
const HERE_ALONE = 'Sandboxes are listed and removed where the database of the service is';

export function addSandboxesCommand(program: Command): void {
  const sandboxes = program
    .command('sandboxes')
    .description('List the sandboxes of this database, and remove those that nobody holds.')
    .addHelpText(
      'after',
      `
A sandbox ends with its session. After a crash some may be left: prune removes those whose process is gone. Sandboxes of
other databases are never touched, and no sandbox is removed for its age.
Without --sandbox the engines bubblewrap and docker are asked, or the one that is configured.

Exit code: 0; 1 when no engine answers, or a sandbox cannot be removed.

Examples:
  $ proctor sandboxes list
  $ proctor sandboxes list --json
  $ proctor sandboxes prune`,
    );
  sandboxes
    .command('list')
    .description('List the sandboxes of this database.')
    .option('--json', 'print {"sandboxes": [{id, engine, image, session, run, created_at, memory_bytes}]}')
    .addOption(hereAlone(HERE_ALONE))
    .action(listSandboxes);
  sandboxes
    .command('prune')
    .description('Remove the sandboxes whose process is gone.')
    .option('--all', 'also those whose process cannot be seen from this machine')
    .option('--json', 'print {"removed": [ids], "failed": [ids]}')
    .addOption(hereAlone(HERE_ALONE))
    .action(pruneSandboxes);
}

async function listSandboxes({ json = false }: { readonly json?: boolean }): Promise<void> {
  const records = (await atEngines((engine, owner, signal) => engine.list(owner, signal))).flat();
  if (json) {
    printJson({ sandboxes: records.map(toJson) });
    return;
  }
  if (records.length === 0) return note('There are no sandboxes of this database.');
  const rows = records.map((record) => [
    record.id.slice(0, 12),
    record.engine,
    printable(record.image ?? '-'),
    record.labels.session ?? '-',
    durationText(Math.max(0, Date.now() - record.createdAt.getTime())),
    record.memoryBytes === undefined ? '-' : `${Math.round(record.memoryBytes / MEBIBYTE)} MiB`,
    stateOfHolder(record.labels.holder),
  ]);
  printTable([['ID', 'ENGINE', 'IMAGE', 'SESSION', 'AGE', 'MEMORY', 'PROCESS'], ...rows]);
}

async function pruneSandboxes(options: { readonly all?: boolean; readonly json?: boolean }): Promise<void> {
  const { all = false, json = false } = options;
  const removals = (await atEngines((engine, owner, signal) => removeLeftOver(engine, owner, signal, all))).flat();
  const failed = removals.filter(({ error }) => error !== undefined);
  const removed = removals.filter(({ error }) => error === undefined);
  const idsOf = (list: typeof removals) => list.map(({ record }) => record.id);
  if (json) printJson({ removed: idsOf(removed), failed: idsOf(failed) });
  else print(`${countText(removed.length, 'sandbox', 'sandboxes')} removed`);
  for (const { record, error } of failed)
    note(colors.red(`${record.id.slice(0, 12)} was not removed: ${messageOf(error)}`));
  if (failed.length > 0) throw new SilentFailure();
}

function toJson({ id, engine, image, labels, createdAt, memoryBytes }: SandboxRecord) {
  return {
    id,
    engine,
    image: image ?? null,
    session: labels.session ?? null,
    run: labels.run ?? null,
    created_at: createdAt.toISOString(),
    memory_bytes: memoryBytes ?? null,
  };
}

type Asked<Result> = (engine: Engine, owner: string, signal: AbortSignal) => Promise<Result>;

/** Asks all engines that this directory may use. @throws SilentFailure if none answers. */
async function atEngines<Result>(ask: Asked<Result>): Promise<readonly Result[]> {
  const { settings } = await loadProject();
  const { engine, owner = NO_OWNER } = settings.sandbox;
  const names: readonly EngineName[] = engine === undefined ? ['bubblewrap', 'docker'] : [engine];
  const asked = await Promise.allSettled(names.map((name) => askOne(name, settings, owner, ask)));
  const answers = asked.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  for (const [index, each] of asked.entries()) {
    if (each.status === 'rejected') note(colors.yellow(`${names[index]} was not asked: ${messageOf(each.reason)}`));
  }
  if (answers.length === 0) throw new SilentFailure();
  return answers;
}

async function askOne<Result>(
  name: EngineName,
  { sandbox }: Settings,
  owner: string,
  ask: Asked<Result>,
): Promise<Result> {
  const engine = await openEngine(name, { variables: process.env, ...sandbox });
  try {
    return await ask(engine, owner, AbortSignal.timeout(ENGINE_MS));
  } finally {
    await engine.close();
  }
}
