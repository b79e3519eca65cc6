import { EnvironmentServer, type ScenarioTask, serveMain, type ToolContext, ToolError } from 'proctor';
import { z } from 'zod';
import { gradeConversation } from './desk/conduct.ts';
import { DataDirectory, ownDataDirectory } from './desk/data-directory.ts';
import { Database } from './desk/database.ts';
import { DeskError } from './desk/desk-error.ts';
import type { DeskResult, DeskTool } from './desk/desk-tool.ts';
import { effectiveCalls, judge } from './desk/judge.ts';
import {
  assertions,
  facts,
  referenceCalls,
  type Task,
  toRequest,
  toUserInstructions,
  toUserScript,
} from './desk/tasks.ts';
import { deskTools } from './desk/tools.ts';

/**
 * The service desk of a shop: sixteen tools over its records, and a scenario that grades the state which an agent leaves
 * them in. The shop is the directory that `RETAIL_DATA` names, by default the small one beside this file.
 */
export default class RetailEnvironment extends EnvironmentServer {
  // The policy and the tasks' ids are part of the declaration; the records, which may be large, wait for the hook.
  readonly #directory = DataDirectory.open(process.env.RETAIL_DATA || ownDataDirectory);
  #database: Database | undefined;

  constructor() {
    super({
      name: 'retail',
      version: '1.0.0',
      instructions: "A shop's customer-service desk.",
      // Each holds the records of the shop, some megabytes of a large one.
      sessionsPerProcess: 50,
    });
    this.initialize(() => {
      this.#openShop();
    });
    for (const tool of deskTools) {
      const annotations = { readOnlyHint: tool.isReadOnly, openWorldHint: false };
      const { name, description, args } = tool;
      this.tool(name, { description, args, annotations }, (given) => this.#run(tool, given));
    }
    this.scenario(
      'task',
      {
        description: "Settle one customer's request by the rules of the desk.",
        args: z.object({ task_id: z.enum([...this.#directory.tasks().keys()]).describe('Which of the tasks.') }),
        system: this.#directory.policy(),
        tasks: () => declareTasks(this.#directory),
        solution: ({ task_id }) => ({
          calls: effectiveCalls(this.#task(task_id), new Database(this.#directory.records())),
          answer: 'Your request has been dealt with.',
        }),
      },
      ({ task_id }) => this.#serveCustomer(this.#task(task_id)),
    );
    this.scenario(
      'conversation',
      {
        description: 'Settle the request of a customer who tells it in pieces and answers questions.',
        args: z.object({
          task_id: z.enum([...this.#directory.tasks().keys()]).describe('Which of the tasks.'),
          user_script: z.array(z.string()).optional().describe('Lines of the customer, for proctor/user-script.'),
          judge_script: z.array(z.boolean()).optional().describe('Verdicts on the conduct, for proctor/judge-script.'),
        }),
        system: this.#directory.policy(),
        user: { instructions: ({ task_id }) => toUserInstructions(this.#task(task_id)) },
        tasks: () => declareConversations(this.#directory),
        solution: ({ task_id }) => ({
          calls: effectiveCalls(this.#task(task_id), new Database(this.#directory.records())),
          answer: ['Your request has been dealt with.', ...facts(this.#task(task_id))].join(' '),
        }),
      },
      ({ task_id }, context) => this.#talkWithCustomer(this.#task(task_id), context),
    );
  }

  /** The customer writes first, and answers questions. */
  async *#talkWithCustomer(task: Task, context: ToolContext) {
    const database = this.#openShop();
    yield [];
    return await gradeConversation(task, judge(task, database), context);
  }

  async *#serveCustomer(task: Task) {
    const database = this.#openShop();
    yield toRequest(task);
    return judge(task, database);
  }

  #run(tool: DeskTool, args: unknown): DeskResult {
    try {
      return tool.run(this.#database ?? this.#openShop(), args);
    } catch (error) {
      throw error instanceof DeskError ? new ToolError(error.message) : error;
    }
  }

  /** Starts over with the shop as it was read. */
  #openShop(): Database {
    this.#database = new Database(this.#directory.records());
    return this.#database;
  }

  #task(id: string): Task {
    const tasks = this.#directory.tasks();
    const task = tasks.get(id);
    if (task === undefined) throw new Error(`There is no task '${id}'. There are: ${[...tasks.keys()].join(', ')}`);
    return task;
  }
}

const conversationTaskArgs = {
  task_id: z.string(),
  user_script: z.array(z.string()),
  judge_script: z.array(z.boolean()),
};

/** Each with the customer's lines, and with verdicts of a judge that is content: for plays without a model of their own. */
function declareConversations(directory: DataDirectory): readonly ScenarioTask<typeof conversationTaskArgs>[] {
  const tasks = directory.tasks();
  return declareTasks(directory).map(({ args: { task_id }, ...task }) => {
    const own = tasks.get(task_id);
    return {
      ...task,
      // Both scenarios are in the taskset of the environment; an agent that fails one is likely to fail the other.
      id: `talk-${task_id}`,
      cluster: task_id,
      args: { task_id, user_script: own === undefined ? [] : [...toUserScript(own)], judge_script: [true] },
    };
  });
}

/** Tags say which tools change records on the way to the right end state; a task that changes none is one of refusing. */
function declareTasks(directory: DataDirectory): readonly ScenarioTask<{ readonly task_id: z.ZodString }>[] {
  const splits = directory.splits();
  return [...directory.tasks().values()].map((task) => {
    const changes = referenceCalls(task).filter(({ name }) => changingTools.has(name));
    const tools = new Set(changes.map(({ name }) => name));
    const judged = assertions(task).length > 0 ? ['assertions'] : [];
    return {
      id: task.id,
      args: { task_id: task.id },
      split: splits.get(task.id) ?? null,
      tags: [...(tools.size === 0 ? ['unchanged'] : [...tools].sort()), ...judged],
    };
  });
}

const changingTools = new Set(deskTools.filter(({ isReadOnly }) => !isReadOnly).map(({ name }) => name));

serveMain(import.meta, RetailEnvironment);
