import { z } from 'zod';
import { type UserOfSetup, userMessageSchema } from '../../../../contract/scenario.ts';
import type { EnvironmentDefinition, ScenarioDefinition } from '../../../authoring/definition.ts';
import { compileSchema } from '../../../authoring/schema/schema.ts';
import { ToolError } from '../../../authoring/tool-result.ts';
import type { CallableTool } from '../call-tool.ts';
import type { ActiveScenario } from './active-scenario.ts';

/**
 * The user of a scenario for the result of setup. @throws ToolError for a function that is in no hub with the audience
 * `user`.
 */
export function describeUser(
  { name, user }: ScenarioDefinition,
  args: unknown,
  { hubs }: Pick<EnvironmentDefinition, 'hubs'>,
): UserOfSetup | undefined {
  if (user === undefined) return undefined;
  const offered = [...hubs.values()].filter(({ audience }) => audience === 'user');
  const tools = user.tools.map((wanted) => {
    const hub = offered.find((each) => each.tools.has(wanted));
    const tool = hub?.tools.get(wanted);
    if (hub === undefined || tool === undefined) {
      const known = offered.flatMap((each) => [...each.tools.keys()]).join(', ') || 'none';
      throw new ToolError(
        `The user of the scenario ${name} needs the function "${wanted}", and hubs of the audience "user" have: ${known}`,
      );
    }
    return { hub: hub.name, name: wanted, description: tool.description ?? '', input_schema: tool.input.jsonSchema };
  });
  return {
    instructions: user.instructions?.(args) ?? null,
    model: user.model ?? null,
    tools,
    max_turns: user.maxTurns,
    function: user.next !== undefined,
  };
}

/** The function `next` of the hub `user`. It returns the next message of the active scenario's user. */
export function nextFunction(active: ActiveScenario, describeFailure: (thrown: unknown) => string): CallableTool {
  return {
    name: 'next',
    title: undefined,
    description: 'The next message of the user of the active scenario; null ends the conversation.',
    annotations: undefined,
    input: CONVERSATION_INPUT,
    output: undefined,
    handler: async (args, context) => {
      const { conversation } = args as z.infer<typeof conversationSchema>;
      return { message: await active.nextUserMessage(conversation, context) };
    },
    subject: 'The user of the active scenario',
    describeFailure,
  };
}

const conversationSchema = z.strictObject({ conversation: z.array(userMessageSchema) });

const CONVERSATION_INPUT = compileSchema(conversationSchema, 'The function next of the hub user');
