import type { JsonSchema } from '../../../contract/json.ts';
import type { PromptMessage } from '../../../contract/scenario.ts';
import type { EnvironmentTool } from '../../../contract/service/run.ts';
import type { ToolResultRecord } from '../../../contract/service/trace.ts';
import type { PlayedSession } from './play.ts';

type ToolOffer = Pick<EnvironmentTool, 'name' | 'description' | 'input_schema'>;

/** The messages that the agent got at setup. */
export function promptOf({ trace }: PlayedSession): readonly PromptMessage[] {
  return trace.system === null ? trace.prompt : [{ role: 'system', content: trace.system }, ...trace.prompt];
}

export function toolsOf({ trace }: PlayedSession): readonly ToolOffer[] {
  return trace.tools;
}

/** All tool results, in order. */
export function resultsOf({ trace }: PlayedSession): readonly ToolResultRecord[] {
  return trace.steps.flatMap(({ tool_results }) => tool_results);
}

/** Answer schema of the scenario; null if the answer is text. */
export function answerSchemaOf({ log }: PlayedSession): JsonSchema | null {
  for (const event of log.events) if (event.type === 'setup.completed') return event.answer_schema as JsonSchema | null;
  return null;
}

/** All text of a prompt. */
export function textOfPrompt(messages: readonly PromptMessage[]): string {
  return messages
    .flatMap(({ content }) =>
      typeof content === 'string' ? [content] : content.map((part) => ('text' in part ? part.text : '')),
    )
    .join('\n');
}
