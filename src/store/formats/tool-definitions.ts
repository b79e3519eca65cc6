import { type AgentTool, agentToolSchema } from '../../contract/chat.ts';
import { isJsonObject } from '../../contract/json.ts';

/** Tools of a list in OpenAI's form, with or without the `function` wrapper. Invalid entries are left out. */
export function toTools(given: unknown): AgentTool[] {
  if (!Array.isArray(given)) return [];
  return given.flatMap((each: unknown) => {
    const tool = isJsonObject(each) && isJsonObject(each.function) ? each.function : each;
    if (!isJsonObject(tool) || typeof tool.name !== 'string') return [];
    const { name, description, parameters } = tool;
    return [
      {
        name,
        description: typeof description === 'string' ? description : '',
        input_schema: isJsonObject(parameters) ? parameters : { type: 'object' },
      },
    ];
  });
}

/** Tools in the form of traces; an invalid list gives none. */
export function toAgentTools(given: unknown): AgentTool[] {
  return agentToolSchema.array().safeParse(given).data ?? [];
}
