import type { ContentBlock } from '../../../contract/chat.ts';
import { parseShownJson } from '../trace/content-block.tsx';
import { type DiffLine, diffParts } from '../trace/line-diff.ts';
import type { CallView } from '../trace/timeline.ts';
import { isSaidAsText } from '../trace/tool-call.tsx';

/** Which of two sides a text is on: what the other side does not have is `removed` on the one, `added` on the other. */
export type Side = 'known' | 'other';

/** Where less is the same, marks would be everywhere and say nothing. A share of the text's length. */
const LEAST_SAME = 0.2;

/**
 * The lines (or words) of a text, those that its counterpart does not have marked. Undefined where there is nothing to mark,
 * or next to nothing in both.
 */
export function diffSide(
  text: string,
  against: string,
  side: Side,
  cutBy: 'lines' | 'words',
): readonly DiffLine[] | undefined {
  const [old, fresh] = side === 'known' ? [text, against] : [against, text];
  const gone = side === 'known' ? 'added' : 'removed';
  const parts = diffParts(cut(old, cutBy), cut(fresh, cutBy)).filter(({ kind }) => kind !== gone);
  const sameLength = parts.reduce((sum, part) => sum + (part.kind === 'same' ? part.text.trim().length : 0), 0);
  if (parts.every(({ kind }) => kind === 'same')) return undefined;
  return sameLength < LEAST_SAME * text.replace(/\s+/g, '').length ? undefined : parts;
}

/** A value as it is compared: a text as it is, JSON laid out, so that it has lines. */
export function toComparedText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value, null, 2) ?? '';
  const parsed = parseShownJson(value);
  return parsed === undefined ? value : JSON.stringify(parsed, null, 2);
}

/** The result of a tool as text; other content is named by its kind. */
export function toResultText(result: NonNullable<CallView['result']>): string {
  const blocks = result.content.map(toBlockText);
  const structured = isSaidAsText(result) ? [] : [toComparedText(result.structured_content)];
  return [...blocks, ...structured].join('\n');
}

function toBlockText(block: ContentBlock): string {
  if (block.type === 'text' && typeof block.text === 'string') return toComparedText(block.text);
  return block.type === 'image' ? '(an image)' : toComparedText(block);
}

function cut(text: string, by: 'lines' | 'words'): readonly string[] {
  return by === 'lines' ? text.split('\n') : (text.match(/\s+|[^\s]+/g) ?? []);
}
