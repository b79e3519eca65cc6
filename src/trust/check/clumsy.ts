import type { AgentTool } from '../../contract/chat.ts';
import { isJsonObject, type JsonObject } from '../../contract/json.ts';
import { CallsModel } from '../../model/calls-model.ts';
import { randomArguments } from '../../model/random-arguments.ts';
import { createSeededRandom } from '../../model/seeded-random.ts';
import type { Bench } from './bench.ts';
import type { CheckTask } from './finding.ts';
import type { Played } from './play.ts';

/** Calls of one session, at most. */
const MAX_CALLS = 200;
/** Valid calls of each tool. */
const DRAWS = 3;

/** An agent that makes every mistake with each tool: arguments left out, of the wrong type, that do not exist, and drawn by chance. */
export async function playClumsily(task: CheckTask, bench: Bench, tools: readonly AgentTool[]): Promise<Played> {
  const random = createSeededRandom(bench.seed);
  const calls = tools.flatMap(({ name, input_schema }) => {
    const { properties } = input_schema;
    const names = Object.keys(isJsonObject(properties) ? properties : {});
    const drawn = Array.from({ length: DRAWS }, () => randomArguments(input_schema, random)).filter(
      (args) => args !== undefined,
    );
    const wrong: JsonObject[] = names.map((argument) => ({ ...drawn[0], [argument]: { wrong: true } }));
    return [{}, { no_such_argument: 1 }, ...wrong, ...drawn].map((args) => ({ name, arguments: args as JsonObject }));
  });
  const some = calls.slice(0, MAX_CALLS);
  const createModel = () => new CallsModel('proctor/random', some, '');
  return await bench.play(task, { model: 'proctor/random', createModel, maxSteps: Math.min(500, some.length + 1) });
}
