import type { ContentBlock } from './chat.ts';

/** The text of the text blocks of a tool's result, one below the other. */
export function textOfContent(content: readonly ContentBlock[]): string {
  return content.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join('\n');
}
