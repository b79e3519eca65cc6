import type { ContentBlock } from './chat.ts';

/** The text of the text blocks of a tool's result, one below the other. */
export function textOfContent(content: readonly ContentBlock[]): string {
  return content.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join('\n');
}

/**
 * The texts of a message or a result, for people: a block without text is named by its kind, such as `[image]`.
 *
 * @param separator stands between two blocks.
 */
export function readableText(
  content: string | readonly { readonly type: string; readonly text?: unknown }[],
  separator = '\n',
): string {
  if (typeof content === 'string') return content;
  return content.map(({ type, text }) => (typeof text === 'string' ? text : `[${type}]`)).join(separator);
}
