import type { AgentTool } from '../../../contract/chat.ts';
import { isJsonObject, type JsonObject, type JsonSchema } from '../../../contract/json.ts';
import { CallsModel } from '../../../models/gateway/reference/calls-model.ts';
import { randomArguments } from '../../../models/gateway/reference/random-arguments.ts';
import { createSeededRandom } from '../../../models/gateway/reference/seeded-random.ts';
import type { CheckTask } from '../finding.ts';
import type { PlayedSession } from '../player/play.ts';
import type { SessionPlayer } from '../player/session-player.ts';
import type { Seen } from './leak.ts';

/** Most calls of one session. */
const MAX_CALLS = 200;
/** Valid calls of each tool. */
const DRAWS = 3;

/**
 * Plays an agent that makes every mistake with each tool: missing arguments, wrong types, unknown names, random values.
 */
export async function playClumsily(
  task: CheckTask,
  bench: SessionPlayer,
  { tools, seen }: { readonly tools: readonly AgentTool[]; readonly seen: Seen },
): Promise<PlayedSession> {
  const random = createSeededRandom(bench.seed);
  const functions = seen.flatMap((place) => place.functions ?? []);
  const calls = tools.flatMap((tool) => {
    const own = functions.filter(({ hub }) => hub === tool.name);
    const ofFunctions = own.flatMap(({ tool: { name, input_schema } }) =>
      mistakes(input_schema, random).map((args) => ({ name: tool.name, arguments: { name, arguments: args } })),
    );
    return [
      ...ofFunctions,
      ...mistakes(tool.input_schema, random).map((args) => ({ name: tool.name, arguments: args })),
    ];
  });
  const some = calls.slice(0, MAX_CALLS);
  const createModel = () => new CallsModel('proctor/random', some, '');
  return await bench.play(task, { model: 'proctor/random', createModel, maxSteps: Math.min(500, some.length + 1) });
}

/** Arguments for a tool: invalid ones, and some that fit the schema. */
function mistakes(schema: JsonSchema, random: ReturnType<typeof createSeededRandom>): readonly JsonObject[] {
  const { properties } = schema;
  const names = Object.keys(isJsonObject(properties) ? properties : {});
  const drawn = Array.from({ length: DRAWS }, () => randomArguments(schema, random)).filter(
    (args) => args !== undefined,
  );
  const wrong: JsonObject[] = names.map((argument) => ({ ...drawn[0], [argument]: { wrong: true } }));
  return [{}, { no_such_argument: 1 }, ...wrong, ...drawn];
}
