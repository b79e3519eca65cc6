import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { messageOf } from '../../../../contract/errors.ts';
import { tasksUri } from '../../../../contract/names.ts';
import { EVALUATION_LIMITS } from '../../../../contract/task.ts';
import type {
  DeclaredTaskSource,
  EnvironmentDefinition,
  ResourceDefinition,
  ScenarioDefinition,
  ToolContext,
} from '../../../authoring/definition.ts';
import { describeFailure } from '../../describe-thrown.ts';

/** Maximum number of UTF-16 units of a message with tasks. The limit of messages is 64 Mi. */
const MAX_LENGTH = 60 * 1024 * 1024;

/**
 * A resource for the harness for each scenario that declares tasks. Agents must not know the tasks, nor whether there
 * are any, because their arguments are part of the answer key.
 */
export function tasksResources(
  definition: EnvironmentDefinition,
): readonly { readonly resource: ResourceDefinition; readonly isList: boolean }[] {
  return [...definition.scenarios.values()].flatMap((scenario) => {
    const { tasks } = scenario;
    return tasks === undefined ? [] : [{ resource: toResource(scenario, tasks), isList: Array.isArray(tasks) }];
  });
}

function toResource({ name }: ScenarioDefinition, source: DeclaredTaskSource): ResourceDefinition {
  return {
    uri: tasksUri(name),
    isTemplate: false,
    name: `${name}_tasks`,
    title: undefined,
    description: `The tasks of the scenario ${name}.`,
    mimeType: 'application/json',
    audience: 'harness',
    read: (_, context) => readTasks(name, source, context),
  };
}

/**
 * The JSON of `{tasks}`, not checked. @throws ProtocolError with the error of the author's function, because only a
 * harness reads it.
 */
async function readTasks(scenario: string, source: DeclaredTaskSource, context: ToolContext): Promise<string> {
  const what = `The tasks of the scenario "${scenario}"`;
  try {
    const tasks: unknown = typeof source === 'function' ? await source() : source;
    if (!Array.isArray(tasks)) throw new TypeError(`they have to be a list, got ${typeof tasks}`);
    const { length } = tasks;
    if (length > EVALUATION_LIMITS.tasks)
      throw new RangeError(`they are ${length}, and at most ${EVALUATION_LIMITS.tasks}`);
    return withinMessage(JSON.stringify({ tasks }));
  } catch (error) {
    context.log.error(describeFailure(what, error));
    throw new ProtocolError(ProtocolErrorCode.InternalError, `${what} failed: ${messageOf(error)}`);
  }
}

function withinMessage(text: string): string {
  // Inside a message each quote takes two characters.
  if (text.length < MAX_LENGTH / 2 || JSON.stringify(text).length <= MAX_LENGTH) return text;
  throw new RangeError('they are more than 60 MiB of JSON; put them into a file of the folder "tasksets"');
}
