import type { Command } from 'commander';
import { messageOf } from '../../contract/errors.ts';
import type { ScenarioEntry } from '../../contract/scenario.ts';
import type { EnvironmentEntry } from '../../contract/service/run.ts';
import type { Task } from '../../contract/task.ts';
import { type Catalogue, createCatalogue } from '../../environment/client/catalogue.ts';
import type { AgentToolEntry } from '../../environment/client/environment-client.ts';
import { EnvironmentPool } from '../../environment/client/pool/environment-pool.ts';
import { loadDeclaredTasks } from '../../evaluation/tasks/find-tasksets.ts';
import { findTasksetFiles, type TasksetFile } from '../../evaluation/tasks/taskset-files.ts';
import { resolveEnvironment } from '../../service/config/find-environments.ts';
import { loadProject } from '../../service/config/project.ts';
import { displayWidth, padToWidth } from '../../support/text/display-width.ts';
import { countText } from '../../support/text/figures.ts';
import { SilentFailure } from '../base/failure.ts';
import { describeScenario } from '../base/scenario-arguments.ts';
import { colors, note, print, printable, printableLines, printJson, printTable } from '../base/terminal.ts';
import { asTyped } from '../base/typed-command.ts';

export function addListCommand(program: Command): void {
  program
    .command('list [environment]')
    .description('List the environments, or the scenarios, arguments, tools and tasks of one.')
    .option('--json', 'print {"environments": [{"name", "scenarios", "tools", "error", "warnings", ...}]}')
    .addHelpText(
      'after',
      `
The environment is a name, the path of a module, or a URL. Each environment is started to be read, and ended. Without one,
the tasksets of the folder "tasksets" are listed too.

Exit code: 0; 1 when an environment cannot be read; the others are listed; 2 when no environment has that name.

Examples:
  $ proctor list
  $ proctor list counter
  $ proctor list --json`,
    )
    .action(list);
}

interface ListedEnvironment extends Pick<EnvironmentEntry, 'name' | 'description' | 'version'> {
  readonly scenarios: readonly ListedScenario[];
  readonly tools: readonly AgentToolEntry[];
  /** Error of reading the environment; null if it worked. */
  readonly error: string | null;
  /** Warnings about scenarios whose runs will fail and tasks that cannot be read. */
  readonly warnings: readonly string[];
}

interface ListedScenario extends ScenarioEntry {
  /** Tasks that the scenario declares. */
  readonly tasks: readonly Task[];
}

async function list(environment: string | undefined, { json = false }: { readonly json?: boolean }): Promise<void> {
  const { environments, directory, settings } = await loadProject();
  const named =
    environment === undefined ? undefined : resolveEnvironment(environment, environments, directory, settings.sandbox);
  const pool = new EnvironmentPool({ perEnvironment: 0 });
  const catalogue = createCatalogue(named === undefined ? environments : new Map([[named.name, named.target]]), {
    connect: (target, how) => pool.read(target, how),
  });
  try {
    const entries = await catalogue.list();
    const listed = await Promise.all(
      entries.map((entry) => readEnvironment(catalogue, entry, json || named !== undefined)),
    );
    if (json) printJson({ environments: listed });
    else if (named === undefined) printAll(listed, await findTasksetFiles(directory));
    else for (const each of listed) printOne(each, environment ?? each.name);
    if (listed.some(({ error }) => error !== null)) throw new SilentFailure();
  } finally {
    await catalogue.close();
    await pool.close();
  }
}

/** @param isWhole true also reads the tasks, which a function may generate in large numbers. */
async function readEnvironment(
  catalogue: Catalogue,
  entry: EnvironmentEntry,
  isWhole: boolean,
): Promise<ListedEnvironment> {
  const { name, description, version } = entry;
  const error = entry.state === 'failed' ? entry.reason : null;
  const warnings = entry.state === 'ready' ? entry.warnings : [];
  try {
    const scenarios = await catalogue.scenarios(name);
    const tools = await catalogue.tools(name);
    const listed: ListedScenario[] = [];
    const problems: string[] = [];
    const declaring = isWhole ? await catalogue.declaringScenarios(name) : [];
    for (const scenario of scenarios) {
      let tasks: readonly Task[] = [];
      try {
        if (declaring.includes(scenario.short_name))
          tasks = (await loadDeclaredTasks(catalogue, name, scenario.short_name)).tasks;
      } catch (thrown) {
        problems.push(`The tasks of ${scenario.short_name} cannot be read: ${messageOf(thrown)}`);
      }
      listed.push({ ...scenario, tasks });
    }
    return { name, description, version, scenarios: listed, tools, error, warnings: [...warnings, ...problems] };
  } catch (thrown) {
    return { name, description: '', version, scenarios: [], tools: [], error: error ?? messageOf(thrown), warnings };
  }
}

function printAll(environments: readonly ListedEnvironment[], tasksets: readonly TasksetFile[]): void {
  if (environments.length === 0) {
    note('There are no environments here: "proctor init <name>" makes a project with one.');
    return;
  }
  printTable([
    ['NAME', 'VERSION', 'SCENARIOS', 'DESCRIPTION'],
    ...environments.map(({ name, version, scenarios, description, error }) => [
      name,
      printable(version) || '-',
      error === null ? printable(scenarios.map(({ short_name }) => short_name).join(', ')) || 'none' : '-',
      error === null ? printable(description) : 'cannot be read',
    ]),
  ]);
  if (tasksets.length > 0) {
    print();
    printTable([['TASKSET', 'FILE'], ...tasksets.map(({ name, label }) => [printable(name), printable(label)])]);
  }
  for (const { name, error, warnings } of environments) {
    if (error !== null) note(colors.red(`${name}: ${printableLines(error)}`));
    noteWarnings(name, warnings);
  }
  note(colors.dim('"proctor list <environment>" shows arguments, tools and tasks.'));
}

function noteWarnings(name: string, warnings: readonly string[]): void {
  for (const warning of warnings) note(colors.yellow(`${name}: ${printableLines(warning)}`));
}

function printOne(environment: ListedEnvironment, typedName: string): void {
  const { name, version, description, scenarios, tools, error } = environment;
  if (error !== null) {
    note(colors.red(`${name}: ${printableLines(error)}`));
    return;
  }
  print(`${colors.bold(name)} ${printable(version)}${description === '' ? '' : `: ${printable(description)}`}`);
  print();
  print(colors.bold('Scenarios'));
  if (scenarios.length === 0) print('  none');
  for (const scenario of scenarios)
    for (const line of describeScenario(scenario, `proctor run ${typedName}`)) print(line);
  print();
  print(colors.bold('Tools'));
  if (tools.length === 0) print('  none before a scenario has begun');
  const width = Math.max(0, ...tools.map((tool) => displayWidth(printable(tool.name))));
  for (const tool of tools)
    print(`  ${padToWidth(printable(tool.name), width)}  ${printable(tool.description ?? '')}`.trimEnd());
  print();
  print(colors.bold('Tasks'));
  const declaring = scenarios.filter(({ tasks }) => tasks.length > 0);
  if (declaring.length === 0) print('  none declared');
  for (const { short_name, tasks } of declaring) {
    print(`  ${printable(short_name)}: ${countText(tasks.length, 'task')}`);
    // `eval` knows only configured names, not a path or URL.
    if (typedName === name) {
      print(asTyped(`    $ npx proctor eval ${name}/${printable(short_name)} --model proctor/oracle`));
    }
  }
  noteWarnings(name, environment.warnings);
}
