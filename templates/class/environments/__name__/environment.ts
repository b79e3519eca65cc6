import {
  EnvironmentServer,
  type InitializeContext,
  initialize,
  type ScenarioGenerator,
  scenario,
  serveMain,
  ToolError,
  tool,
} from 'proctor';
import { z } from 'zod';

// A method's parameters are checked against the schema of its decorator; z.output says what the schema gives.
const Add = z.object({ title: z.string().min(1).describe('What has to be done.') });
const Finish = z.object({ id: z.int().describe('The number of the task.') });
const ClearList = z.object({
  titles: z.array(z.string().min(1)).min(1).default(['Water the plants', 'Call Ada']).describe('The open tasks.'),
});

/** Numbers that nobody guesses: an agent has to look at the list. */
const FIRST_NUMBER = 4071;

const MANY = Array.from({ length: 12 }, (_, index) => `Read chapter ${index + 1}`);

interface Task {
  readonly id: number;
  readonly title: string;
  isDone: boolean;
}

/** A to-do list. Every session has an instance of its own, so what it remembers is ordinary fields. */
export default class ToDoList extends EnvironmentServer {
  #tasks: Task[] = [];

  constructor() {
    // All that a session changes is in fields, so that a hundred sessions can share a process.
    super({
      name: '__name__',
      version: '0.1.0',
      instructions: 'A to-do list, empty at first.',
      sessionsPerProcess: 100,
    });
  }

  /** Runs before the client hears that the environment is ready: the place for what takes time. */
  @initialize
  async load({ progress }: InitializeContext): Promise<void> {
    progress(100, 100, 'The list is ready.');
  }

  @tool({ description: 'Adds a task and gives its number.', args: Add })
  add({ title }: z.output<typeof Add>): number {
    const id = FIRST_NUMBER + this.#tasks.length;
    this.#tasks.push({ id, title, isDone: false });
    return id;
  }

  @tool({ description: 'Lists the tasks that are not done.', annotations: { readOnlyHint: true } })
  list() {
    return { tasks: this.#open().map(({ id, title }) => ({ id, title })) };
  }

  @tool({ description: 'Marks a task as done.', args: Finish, annotations: { idempotentHint: true } })
  finish({ id }: z.output<typeof Finish>): string {
    const task = this.#tasks.find((each) => each.id === id);
    // The agent reads a ToolError as it is. Of any other error it learns only that the tool failed.
    if (task === undefined) throw new ToolError(`There is no task ${id}. The numbers are those of the list.`);
    task.isDone = true;
    return `Done: ${task.title}`;
  }

  @scenario({
    name: 'clear_list',
    description: 'Finish every task of the list, and no other work.',
    args: ClearList,
    // What an evaluation plays: npx proctor eval __name__. Agents cannot see it.
    tasks: [
      { id: 'usual', split: 'train' },
      { id: 'one', args: { titles: ['Feed the cat'] }, split: 'train' },
      { id: 'twice-the-same', args: { titles: ['Call Ada', 'Call Ada'] }, split: 'test', tags: ['tricky'] },
      { id: 'many', args: { titles: MANY }, split: 'test', tags: ['long'] },
    ],
    solution: ({ titles }) => ({
      calls: titles.map((_, index) => ({ name: 'finish', arguments: { id: FIRST_NUMBER + index } })),
      answer: 'Everything is done.',
    }),
  })
  async *clearList({ titles }: z.output<typeof ClearList>): ScenarioGenerator {
    this.#tasks = [];
    for (const title of titles) this.add({ title });
    yield 'Finish every task of my to-do list. Add none. Tell me when you are done.';
    const finished = titles.length - this.#open().length;
    const added = this.#tasks.length - titles.length;
    return {
      subscores: [
        { name: 'finished', value: Math.max(0, finished) / titles.length, weight: 3 },
        { name: 'added nothing', value: added === 0 && finished > 0 ? 1 : 0 },
      ],
      content: `${finished} of ${titles.length} tasks are done, ${added} were added.`,
      info: { open: this.#open().map(({ title }) => title), added },
    };
  }

  #open(): readonly Task[] {
    return this.#tasks.filter(({ isDone }) => !isDone);
  }
}

serveMain(import.meta, ToDoList);
