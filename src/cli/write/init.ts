import {
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { isCancel, select } from '@clack/prompts';
import type { Command } from 'commander';
import { PROCTOR_VERSION } from '../../support/runtime/version.ts';
import { SilentFailure, UsageError } from '../base/failure.ts';
import { oneOf } from '../base/options.ts';
import { listenForStop } from '../base/signals.ts';
import { colors, note, print, printJson } from '../base/terminal.ts';
import { packOwnPackage } from './own-package.ts';
import { copyTemplate, readTemplateDependencies } from './template-files.ts';

/** Templates, each with a description and the first run of its README. */
const TEMPLATES = {
  blank: {
    hint: 'one tool, one scenario, nothing else',
    run: "remember --arg sentence='The key is under the mat.'",
  },
  class: { hint: 'a to-do list, as a class with decorators', run: 'clear_list' },
  functional: { hint: 'rooms to book, as functions: a structured answer, subscores, typed handles', run: 'meeting' },
  conversation: {
    hint: 'people who write to a desk: a simulated user, and tasks with lines of it',
    run: `help --arg user_script='["Can P204 come to Quay 7?","Thank you."]'`,
  },
  coding: { hint: 'a program to repair: files and commands in a temporary directory', run: 'repair' },
  browser: { hint: 'a page to use, driven in Chromium with screenshots', run: 'reserve' },
} as const;

type TemplateName = keyof typeof TEMPLATES;

const TEMPLATE_NAMES = Object.keys(TEMPLATES) as readonly TemplateName[];
/** Names that are valid for a folder, an npm package and an environment. */
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;

export function addInitCommand(program: Command): void {
  program
    .command('init <name>')
    .description('Make a new project with an environment, its tests and its configuration.')
    .option(
      '--template <template>',
      'what to begin with (default: asked on a terminal, else blank)',
      oneOf(TEMPLATE_NAMES),
    )
    .option(
      '--proctor <spec>',
      `the proctor to depend on: a version, or the path of a packed one, which is copied (default: the packed one of the project in this folder, else the one that runs, which is packed)`,
    )
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
It makes the folder <name>, which must not exist or be empty, with the environment in environments/<name>.
A packed proctor is copied into the folder, so that it goes wherever the folder goes: npm asks no registry for it.

Templates:
${TEMPLATE_NAMES.map((name) => `  ${name.padEnd(14)}${TEMPLATES[name].hint}`).join('\n')}

Exit code: 0 when the project was made; 1 when it could not be; 2 when the command is wrong, and nothing was written.

Examples:
  $ proctor init my-env
  $ proctor init shop --template browser
  $ proctor init my-env --template class --proctor ./proctor-${PROCTOR_VERSION}.tgz --json`,
    )
    .action(init);
}

interface InitOptions {
  readonly template?: TemplateName;
  readonly proctor?: string;
  readonly json?: boolean;
}

async function init(name: string, options: InitOptions): Promise<void> {
  checkName(name);
  const directory = resolve(name);
  checkFolder(name, directory);
  const given = options.proctor ?? packedHere();
  // An invalid option is rejected before the first question.
  const named = given === undefined ? undefined : toDependency(given, directory);
  const template = options.template ?? (await chooseTemplate(options));
  checkDependencies(name, template);
  using stop = listenForStop();
  using own = named === undefined ? await packOwnPackage(stop.signal) : undefined;
  const proctor = named ?? toDependency(own?.path ?? PROCTOR_VERSION, directory);
  const files = [...copyTemplate(template, directory, { name, proctor: proctor.spec })];
  if (proctor.packed !== undefined) {
    const file = basename(proctor.packed);
    copyFileSync(proctor.packed, join(directory, file), constants.COPYFILE_EXCL);
    files.push(file);
  }
  const next = [`cd ${name}`, 'npm install', 'npm test', `npx proctor run ${name} ${TEMPLATES[template].run}`];
  if (options.json) printJson({ name, template, directory, files, next });
  else report({ name, template, files, next });
  if (proctor.packed === undefined && proctor.spec.startsWith('file:'))
    note(`npm installs proctor from ${proctor.spec}: that has to go along wherever ${name} goes.`);
}

function checkName(name: string): void {
  if (NAME.test(name)) return;
  throw new UsageError(
    `${JSON.stringify(name)} cannot be the name of an environment: use 1 to 64 of a-z, 0-9 and "-", with a letter or a digit at both ends.`,
  );
}

/** Rejects a folder that contains files, which would be overwritten. */
function checkFolder(name: string, directory: string): void {
  const entry = lstatSync(directory, { throwIfNoEntry: false });
  if (entry === undefined) return;
  if (!existsSync(directory))
    throw new UsageError(`"${name}" is a link that leads nowhere: choose another name, or move it away.`);
  if (!statSync(directory).isDirectory())
    throw new UsageError(`"${name}" is a file: choose another name, or move it away.`);
  if (readdirSync(directory).length === 0) return;
  throw new UsageError(`The folder "${name}" is not empty: choose another name, or an empty folder.`);
}

/** Rejects a name equal to a dependency: npm does not install a package into itself. */
function checkDependencies(name: string, template: TemplateName): void {
  if (!readTemplateDependencies(template).includes(name)) return;
  throw new UsageError(`"${name}" is the name of a package that the new project depends on: choose another.`);
}

interface Dependency {
  /** Version or path of proctor for npm, relative to the new folder. */
  readonly spec: string;
  /** Path of a packed proctor. It is copied into the new folder, so that a commit or an image contains it. */
  readonly packed?: string;
}

/** The packed proctor on which the current project depends. */
function packedHere(): string | undefined {
  if (!existsSync('package.json')) return undefined;
  const spec = /"proctor"\s*:\s*"file:([^"]+\.tgz)"/.exec(readFileSync('package.json', 'utf8'))?.[1];
  return spec !== undefined && existsSync(spec) ? spec : undefined;
}

/** Resolves a path here and rewrites it for the new folder. Other specs go to npm unchanged. */
function toDependency(spec: string, directory: string): Dependency {
  const path = /^file:(.*)$/.exec(spec)?.[1] ?? (/^[./]|\.tgz$/.test(spec) ? spec : undefined);
  if (path === undefined || /^https?:/.test(spec)) return { spec };
  if (!existsSync(path)) throw new UsageError(`--proctor: there is nothing at ${JSON.stringify(path)}.`);
  if (statSync(path).isFile()) return { spec: `file:${basename(path)}`, packed: path };
  return { spec: `file:${toLastingPath(realpathSync(path), directory)}` };
}

/** Relative if both paths have a common folder other than the root, so that both can be moved together. */
function toLastingPath(path: string, directory: string): string {
  const above = realpathSync(dirname(directory));
  const isOneDisk = statSync(path).dev === statSync(above).dev;
  if (!isOneDisk || path.split(sep)[1] !== above.split(sep)[1]) return path;
  const project = existsSync(directory) ? realpathSync(directory) : resolve(above, basename(directory));
  return relative(project, path).replaceAll(sep, '/');
}

async function chooseTemplate({ json = false }: InitOptions): Promise<TemplateName> {
  const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
  if (json || !isTerminal) return 'blank';
  const chosen = await select({
    message: 'Which template?',
    // The description is part of the label, since a hint appears only for the selected option.
    options: TEMPLATE_NAMES.map((value) => ({
      value,
      label: `${value.padEnd(12)}${colors.dim(TEMPLATES[value].hint)}`,
    })),
    initialValue: TEMPLATE_NAMES[0],
  });
  if (!isCancel(chosen)) return chosen ?? 'blank';
  note('Nothing was written.');
  throw new SilentFailure();
}

function report(made: {
  readonly name: string;
  readonly template: TemplateName;
  readonly files: readonly string[];
  readonly next: readonly string[];
}): void {
  print(`Made ${colors.bold(made.name)} from the template ${made.template}:`);
  for (const file of made.files) print(`  ${colors.dim(`${made.name}/`)}${file}`);
  print();
  print(colors.bold('Next:'));
  for (const line of made.next) print(`  ${line}`);
}
