import type { ContentBlock } from '../../../contract/chat.ts';
import { parseShownJson } from '../trace/steps/content-block.tsx';
import { type DiffLine, diffParts } from '../trace/steps/line-diff.ts';
import { isSaidAsText } from '../trace/steps/tool-call.tsx';
import type { CallView } from '../trace/timeline.ts';

/** Side of a text. Text that the other side lacks is `removed` on one and `added` on the other. */
export type Side = 'known' | 'other';

/** Least equal share of two texts. Below it nearly everything would be marked. */
const LEAST_SAME = 0.2;

/**
 * Splits a text into lines or words and marks those that the other text lacks. Undefined if both are equal or nearly
 * everything differs.
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

/** Text for a comparison. JSON is indented, so that it has lines. */
export function toComparedText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value, null, 2) ?? '';
  const parsed = parseShownJson(value);
  return parsed === undefined ? value : JSON.stringify(parsed, null, 2);
}

/** The result of a tool as text. Other content is replaced by the name of its kind. */
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
