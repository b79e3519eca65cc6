import { EnvironmentServer, type ScenarioGenerator, serveMain, type ToolContext, ToolError } from 'proctor';
import { z } from 'zod';
import { FILE_LIMITS } from './files/work-files.ts';
import type { TestOutcome } from './grading/grade.ts';
import { EXPOSED_WITHOUT_SANDBOX, openSandbox, type SandboxKind } from './sandbox/sandbox.ts';
import { cache } from './tasks/cache.ts';
import type { CodingTask } from './tasks/coding-task.ts';
import { duration } from './tasks/duration.ts';
import { intervals } from './tasks/intervals.ts';
import { letter } from './tasks/letter.ts';
import { roman } from './tasks/roman.ts';
import { separated } from './tasks/separated.ts';
import { Workspace, type WorkspaceLimits } from './workspace.ts';

const MEBIBYTE = 1024 * 1024;
const DEFAULT_COMMAND_MS = 30_000;

const LIMITS: WorkspaceLimits = {
  command: {
    timeMs: 120_000,
    memoryBytes: 512 * MEBIBYTE,
    processes: 64,
    outputBytes: 16 * MEBIBYTE,
    keptOutputBytes: 32 * 1024,
  },
  hiddenTest: {
    timeMs: 5_000,
    memoryBytes: 256 * MEBIBYTE,
    processes: 16,
    outputBytes: MEBIBYTE,
    keptOutputBytes: 4 * 1024,
  },
  gradingMs: 30_000,
};

const SYSTEM = [
  'You are at work in a directory of JavaScript files, which your tools read, change and run commands in. Node is there, the network is not.',
  'Say in a sentence what you did when you are done. Your work is judged by tests that you do not see.',
].join('\n');

const path = z.string().min(1).describe('Relative to the work directory.');
const folder = z.string().min(1).default('.').describe('A folder, relative to the work directory.');

export interface WorkspaceOptions {
  /** What `WORKSPACE_SANDBOX` says by default, and else `bubblewrap`. */
  readonly sandbox?: SandboxKind;
  /** The bubblewrap program: a path or a name; `bwrap` by default. */
  readonly bubblewrap?: string;
  readonly limits?: Partial<WorkspaceLimits>;
}

/**
 * A coding task in a directory of its own for each session: file tools, commands in a sandbox, and hidden tests whose
 * expectations never enter the sandbox.
 */
export default class WorkspaceEnvironment extends EnvironmentServer {
  readonly #limits: WorkspaceLimits;
  readonly #kind: SandboxKind;
  #workspace: Workspace | undefined;

  /** @throws TypeError for a sandbox that does not exist. */
  constructor({ sandbox, bubblewrap = 'bwrap', limits }: WorkspaceOptions = {}) {
    super({ name: 'workspace', version: '1.0.0', instructions: 'Coding tasks in a directory, with a shell.' });
    this.#limits = { ...LIMITS, ...limits };
    this.#kind = toSandboxKind(sandbox ?? (process.env.WORKSPACE_SANDBOX || 'bubblewrap'));
    this.initialize(async () => {
      const opened = await openSandbox({ kind: this.#kind, program: bubblewrap });
      if (this.#kind === 'none') warnOnce();
      this.#workspace ??= await Workspace.open(opened, this.#limits);
    });
    this.close(() => this.#workspace?.close());
    this.#addFileTools();
    this.#addCommandTool();
    this.#addScenario('repair', 'Mend a small JavaScript module that does not do what it says.', [
      intervals,
      separated,
      letter,
    ]);
    this.#addScenario('implement', 'Write a small JavaScript module to a specification.', [duration, cache, roman]);
  }

  #addFileTools(): void {
    const reading = { annotations: { readOnlyHint: true, openWorldHint: false } };
    const writing = { annotations: { openWorldHint: false } };
    this.tool(
      'read_file',
      {
        description: `Reads a text file of up to ${FILE_LIMITS.fileBytes} bytes, or some of its lines. At most ${FILE_LIMITS.shownBytes} bytes are shown at once.`,
        args: {
          path,
          from_line: z.int().min(1).default(1).describe('The first line that is shown.'),
          max_lines: z.int().min(1).default(2_000).describe('Lines at most.'),
        },
        ...reading,
      },
      ({ path, from_line, max_lines }, { signal }) =>
        this.#open.useFiles(signal, (files) => files.read(path, from_line, max_lines)),
    );
    this.tool(
      'write_file',
      {
        description: `Writes a text file of up to ${FILE_LIMITS.fileBytes} bytes: makes it, and the folders that it needs, or replaces it.`,
        args: { path, content: z.string().describe('The whole text of the file.') },
        ...writing,
      },
      ({ path, content }, { signal }) => this.#open.useFiles(signal, (files) => files.write(path, content)),
    );
    this.tool(
      'edit_file',
      {
        description: 'Replaces a piece of a text file. The old text has to match exactly, and to be there once.',
        args: {
          path,
          old_text: z.string().min(1).describe('The text that is there, with its blanks.'),
          new_text: z.string().describe('The text in its place.'),
        },
        ...writing,
      },
      ({ path, old_text, new_text }, { signal }) =>
        this.#open.useFiles(signal, (files) => files.edit(path, old_text, new_text)),
    );
    this.tool(
      'list_files',
      {
        description: `Lists what is in a folder and below it, up to ${FILE_LIMITS.listed} entries. node_modules and .git are not entered.`,
        args: { path: folder },
        ...reading,
      },
      ({ path }, { signal }) => this.#open.useFiles(signal, (files) => files.list(path)),
    );
    this.tool(
      'search',
      {
        description: 'Finds the lines of text files that contain a text, or match a JavaScript regular expression.',
        args: {
          pattern: z.string().min(1).max(500).describe('What to look for.'),
          is_regex: z.boolean().default(false).describe('Whether the pattern is a regular expression.'),
          path: folder,
        },
        ...reading,
      },
      ({ pattern, is_regex, path }, { signal }) =>
        this.#open.useFiles(signal, (files, either) => files.search({ pattern, isRegex: is_regex, path }, either)),
    );
  }

  #addCommandTool(): void {
    const { timeMs, memoryBytes, processes, keptOutputBytes } = this.#limits.command;
    this.tool(
      'run_command',
      {
        description: [
          'Runs a shell command in the work directory, without input and without a network, and ends everything that it has started.',
          `Limits: ${memoryBytes / MEBIBYTE} MiB of memory, ${processes} processes; of a long output the beginning and the end are shown, ${keptOutputBytes / 1024} KiB in all.`,
        ].join(' '),
        args: {
          command: z.string().min(1).max(20_000).describe('For /bin/sh.'),
          timeout_ms: z
            .int()
            .min(100)
            .max(timeMs)
            .default(Math.min(DEFAULT_COMMAND_MS, timeMs))
            .describe('Milliseconds.'),
        },
        annotations: { destructiveHint: true, openWorldHint: false },
      },
      ({ command, timeout_ms }, { signal }) => this.#open.runCommand(command, timeout_ms, signal),
    );
  }

  #addScenario(name: string, description: string, tasks: readonly CodingTask[]): void {
    const byId = new Map(tasks.map((task) => [task.id, task]));
    const find = (id: string): CodingTask => {
      const task = byId.get(id);
      if (task === undefined) throw new Error(`There is no task '${id}'. There are: ${[...byId.keys()].join(', ')}`);
      return task;
    };
    this.scenario(
      name,
      {
        description,
        args: z.object({
          task: z.enum([...byId.keys()]).describe('Which module.'),
          visible_tests: z.boolean().default(true).describe('Whether the agent is given some of the tests.'),
        }),
        system: SYSTEM,
        // Commands tell times: their own, and those of the tests that they run.
        volatile: ['run_command'],
        tasks: tasks.flatMap(({ id }, index) => declareTasks(id, SPLITS[index])),
        solution: ({ task }) => ({ calls: find(task).solution, answer: 'The module does what is asked now.' }),
      },
      ({ task, visible_tests }, context) => this.#pose(find(task), visible_tests, context),
    );
  }

  async *#pose(task: CodingTask, hasVisibleTests: boolean, { signal }: ToolContext): ScenarioGenerator {
    await this.#open.begin(hasVisibleTests ? { ...task.files, ...task.visibleTests } : task.files);
    const hint = hasVisibleTests ? ' `node --test` runs the tests that come with it; there are more.' : '';
    yield `${task.request}${hint}`;
    return toEvaluation(task, await this.#open.grade(task, signal), this.#kind);
  }

  get #open(): Workspace {
    if (this.#workspace === undefined) throw new ToolError('The workspace is not open.');
    return this.#workspace;
  }
}

/** Of the modules of a scenario, in their order. */
const SPLITS = ['train', 'validation', 'test'] as const;

/** With tests to look at and without: both are about one module, and so one cluster. */
function declareTasks(task: string, split: (typeof SPLITS)[number] | undefined) {
  const same = { split: split ?? null, cluster: task } as const;
  return [
    { ...same, id: task, args: { task }, tags: ['visible-tests'] },
    { ...same, id: `${task}-blind`, args: { task, visible_tests: false }, tags: ['hidden-tests-alone'] },
  ];
}

/**
 * The share of the tests that earn something, times the share of the guards that still hold: an agent that breaks what
 * worked has not done what it was asked, and one that does nothing has earned nothing.
 */
function toEvaluation(task: CodingTask, outcomes: readonly TestOutcome[], sandbox: SandboxKind) {
  const guards = outcomes.filter(({ test }) => test.isGuard);
  const earning = outcomes.filter(({ test }) => !test.isGuard);
  const passed = outcomes.filter((outcome) => outcome.passed).length;
  const held = shareOfPassed(guards);
  return {
    reward: shareOfPassed(earning) * held,
    content: `${passed} of ${outcomes.length} hidden tests passed.`,
    // Their weighted mean is the reward: guards earn nothing, and a broken one makes all others worth less.
    subscores: outcomes.map(({ test, passed }) =>
      test.isGuard
        ? { name: test.name, value: passed ? 1 : 0, weight: 0 }
        : { name: test.name, value: passed ? held : 0 },
    ),
    info: {
      task: task.id,
      sandbox,
      passed,
      failed: outcomes.filter((outcome) => !outcome.passed).map(({ test }) => test.name),
      guards: guards.map(({ test }) => test.name),
    },
  };
}

function shareOfPassed(outcomes: readonly TestOutcome[]): number {
  return outcomes.length === 0 ? 1 : outcomes.filter(({ passed }) => passed).length / outcomes.length;
}

let hasWarned = false;

function warnOnce(): void {
  if (!hasWarned) console.warn(`There is no sandbox: what an agent runs can reach ${EXPOSED_WITHOUT_SANDBOX}.`);
  hasWarned = true;
}

function toSandboxKind(given: string): SandboxKind {
  if (given === 'bubblewrap' || given === 'none') return given;
  throw new TypeError(`The sandbox is "bubblewrap" or "none", got ${JSON.stringify(given)}: correct WORKSPACE_SANDBOX`);
}

serveMain(import.meta, WorkspaceEnvironment);
