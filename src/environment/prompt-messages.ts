import { z } from 'zod';
import type { PromptMessage } from '../contract/scenario.ts';
import { preview } from '../schema/json-schema.ts';

/** The prompt of a scenario or an MCP prompt: a text of the user, or messages with text and images. */
export type Prompt = string | readonly PromptMessage[];

/**
 * The messages of a prompt.
 *
 * @param where starts the error message.
 * @param mayBeEmpty true where a simulated user begins instead.
 * @throws TypeError for what is neither text nor a list of one message or more.
 */
export async function toPromptMessages(
  prompt: unknown,
  where: string,
  mayBeEmpty = false,
): Promise<readonly PromptMessage[]> {
  if (typeof prompt === 'string') return [{ role: 'user', content: prompt }];
  // The schema costs a millisecond of every start, and most prompts are text.
  const { promptMessageSchema } = await import('../contract/scenario.ts');
  const parsed = z
    .array(promptMessageSchema)
    .min(mayBeEmpty ? 0 : 1)
    .safeParse(prompt);
  if (parsed.success) return parsed.data;
  throw new TypeError(
    `${where}: the prompt has to be text or a list of {role, content} messages, got ${preview(prompt)}: ${z.prettifyError(parsed.error)}`,
  );
}
