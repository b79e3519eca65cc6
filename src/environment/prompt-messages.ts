import { z } from 'zod';
import { type PromptMessage, promptMessageSchema } from '../contract/scenario.ts';
import { preview } from '../schema/json-schema.ts';

/** The prompt of a scenario or an MCP prompt: a text of the user, or messages with text and images. */
export type Prompt = string | readonly PromptMessage[];

/**
 * The messages of a prompt.
 *
 * @param where starts the error message.
 * @throws TypeError for what is neither text nor a list of one message or more.
 */
export function toPromptMessages(prompt: unknown, where: string): readonly PromptMessage[] {
  if (typeof prompt === 'string') return [{ role: 'user', content: prompt }];
  const parsed = messagesSchema.safeParse(prompt);
  if (parsed.success) return parsed.data;
  throw new TypeError(
    `${where}: the prompt has to be text or a list of {role, content} messages, got ${preview(prompt)}: ${z.prettifyError(parsed.error)}`,
  );
}

const messagesSchema = z.array(promptMessageSchema).min(1);
