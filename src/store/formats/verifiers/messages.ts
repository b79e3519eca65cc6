import { z } from 'zod';
import type { ContentBlock } from '../../../contract/chat.ts';
import { isJsonObject } from '../../../contract/json.ts';
import type { ContentPart } from '../../../contract/scenario.ts';
import type { Step } from '../../../contract/service/trace.ts';
import { type ReadContext, toArguments } from '../imported-trace.ts';

const text = z.string().nullish();

export const messageSchema = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).nullish(),
  reasoning_content: text,
  tool_calls: z.array(z.unknown()).nullish(),
  tool_call_id: text,
  name: text,
});
export type VerifiersMessage = z.infer<typeof messageSchema>;

/** Calls in a file. Each is a JSON text, an object, or an object in OpenAI's form. */
export function toCalls({ tool_calls: calls }: VerifiersMessage): Step['message']['tool_calls'] {
  return (calls ?? []).flatMap((given) => {
    const call = typeof given === 'string' ? parsed(given) : given;
    if (!isJsonObject(call)) return [];
    const called = isJsonObject(call.function) ? call.function : call;
    const { name, arguments: args } = called;
    const id = typeof call.id === 'string' ? call.id : '';
    return [{ id, name: typeof name === 'string' ? name : '', ...toArguments(args) }];
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function toBlocks({ content }: VerifiersMessage, { bytesAt, losses }: ReadContext): ContentBlock[] {
  if (content === null || content === undefined) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((part) => {
    const image = part.type === 'image_url' && isJsonObject(part.image_url) ? part.image_url.url : undefined;
    const bytes = typeof image === 'string' ? bytesAt(image) : undefined;
    if (bytes !== undefined) return { type: 'image', data: bytes.data, mimeType: bytes.mimeType };
    if (part.type === 'text' && typeof part.text === 'string') return { type: 'text', text: part.text };
    losses.add('messages[].content', 'traces have no such content, or its bytes are elsewhere');
    return { type: 'text', text: `[${part.type.slice(0, 50)}]` };
  });
}

export function toContentParts(blocks: readonly ContentBlock[]): ContentPart[] {
  return blocks.map((block): ContentPart => {
    const { type, data, mimeType, text: said } = block;
    if (type === 'image' && typeof data === 'string' && typeof mimeType === 'string') return { type, data, mimeType };
    return { type: 'text', text: typeof said === 'string' ? said : `[${type}]` };
  });
}
