import { connectEnvironment, type EnvironmentClient, type EnvironmentTarget, type ToolResult } from 'proctor/client';
import { isEqual, shown } from './compare.ts';
import type { ExpectedStep, ExpectedTask, Records, Shop } from './expected.ts';

const READS_IN_FLIGHT = 50;

type Evaluation = Awaited<ReturnType<EnvironmentClient['evaluate']>>;

export interface Outcome {
  readonly id: string;
  readonly calls: number;
  readonly faults: readonly string[];
  readonly matchedCalls: number;
}

/** One task in a process of its own, as a run has it. Faults are lines for people; without any, the task matches. */
export async function replayTask(
  task: ExpectedTask,
  shop: Shop,
  target: EnvironmentTarget,
  options: { readonly everyRecord: boolean },
): Promise<Outcome> {
  const faults: string[] = [];
  let matchedCalls = 0;
  const client = await connectEnvironment(target);
  try {
    await client.setup('task', { task_id: task.id });
    for (const [index, step] of task.steps.entries()) {
      const fault = compareResult(step, await client.call(step.name, step.arguments));
      if (fault === undefined) matchedCalls += 1;
      else faults.push(`call ${index + 1}, ${step.name}: ${fault}`);
    }
    faults.push(...(await compareRecords(task, shop, client, options.everyRecord)));
    faults.push(...compareEvaluation(task, await client.evaluate('task', '')));
  } finally {
    await client.close();
  }
  return { id: task.id, calls: task.steps.length, matchedCalls, faults };
}

function compareResult(step: ExpectedStep, result: ToolResult): string | undefined {
  const text = result.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  if (step.error !== undefined) {
    const isRefused = result.is_error && text.includes(step.error);
    return isRefused ? undefined : `expected the error '${step.error}', got ${shown(result)}`;
  }
  if (result.is_error) return `expected a result, got the error '${text}'`;
  // The text of a string result may look like JSON: it is compared as it is.
  const value = typeof step.ok === 'string' ? text : result.structured_content;
  return isEqual(value, step.ok) ? undefined : `expected ${shown(step.ok)}, got ${shown(result)}`;
}

/**
 * Reads the records of `changed_records`, or with `everyRecord` all orders and users of the shop: those that should have
 * changed are as given there, and all others as in db.json.
 */
async function compareRecords(
  task: ExpectedTask,
  shop: Shop,
  client: EnvironmentClient,
  everyRecord: boolean,
): Promise<string[]> {
  const faults: string[] = [];
  const compare = async (tool: string, argument: string, before: Records, changed: Records) => {
    for (const ids of chunks(Object.keys(everyRecord ? before : changed), READS_IN_FLIGHT)) {
      const results = await Promise.all(ids.map((id) => client.call(tool, { [argument]: id })));
      for (const [index, id] of ids.entries()) {
        const isAsExpected = isEqual(results[index]?.structured_content, changed[id] ?? before[id]);
        if (!isAsExpected) faults.push(`${id} ${id in changed ? 'is not as it should be' : 'should not have changed'}`);
      }
    }
  };
  await compare('get_order_details', 'order_id', shop.orders, task.changed_records.orders);
  await compare('get_user_details', 'user_id', shop.users, task.changed_records.users);
  return faults;
}

/** The reward, and the set of records that differ from the fresh shop, which the evaluation finds by comparing both. */
function compareEvaluation(task: ExpectedTask, { reward, info }: Evaluation): string[] {
  const expected = {
    orders: Object.keys(task.changed_records.orders).sort(),
    users: Object.keys(task.changed_records.users).sort(),
  };
  const faults = reward === 1 ? [] : [`reward ${reward} for the reference calls: ${shown(info)}`];
  if (isEqual(info.changed_records, expected)) return faults;
  return [...faults, `changed ${shown(info.changed_records)}, expected ${shown(expected)}`];
}

function chunks<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}
