import type { ContentBlock } from './chat.ts';

/** The text blocks of a tool's result, joined by line breaks. */
export function textOfContent(content: readonly ContentBlock[]): string {
  return content.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join('\n');
}

/**
 * Text of a message or a result, for people. A block without text is shown by its kind, such as `[image]`.
 *
 * @param separator text between two blocks.
 */
export function readableText(
  content: string | readonly { readonly type: string; readonly text?: unknown }[],
  separator = '\n',
): string {
  if (typeof content === 'string') return content;
  return content.map(({ type, text }) => (typeof text === 'string' ? text : `[${type}]`)).join(separator);
}
