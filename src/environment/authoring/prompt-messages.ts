import { z } from 'zod';
import type { PromptMessage } from '../../contract/scenario.ts';
import { preview } from '../../support/schema/json-schema.ts';

/** The prompt of a scenario or an MCP prompt: one text of the user, or messages with text and images. */
export type Prompt = string | readonly PromptMessage[];

/**
 * Reads the messages of a prompt.
 *
 * @param where starts the error message.
 * @param mayBeEmpty is true if a simulated user begins the conversation.
 * @throws TypeError unless the prompt is text or a list with at least one message.
 */
export async function toPromptMessages(
  prompt: unknown,
  where: string,
  mayBeEmpty = false,
): Promise<readonly PromptMessage[]> {
  if (typeof prompt === 'string') return [{ role: 'user', content: prompt }];
  // Loaded here, because the schema takes a millisecond of every start and most prompts are plain text.
  const { promptMessageSchema } = await import('../../contract/scenario.ts');
  const parsed = z
    .array(promptMessageSchema)
    .min(mayBeEmpty ? 0 : 1)
    .safeParse(prompt);
  if (parsed.success) return parsed.data;
  throw new TypeError(
    `${where}: the prompt has to be text or a list of {role, content} messages, got ${preview(prompt)}: ${z.prettifyError(parsed.error)}`,
  );
}
