import type { ContentBlock } from '../../../contract/chat.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { addressOrLoss } from '../addresses.ts';
import type { TraceBytes, WriteContext } from '../format.ts';

export interface AtifContext extends WriteContext {
  /** False up to v1.7, whose readers refuse a file with audio. */
  readonly hasAudio: boolean;
}

/** The image types that ATIF supports. */
const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

/** Audio types, supported since v1.8. */
const AUDIO_TYPES = ['wav', 'mpeg', 'mp4', 'aac', 'ogg', 'flac', 'webm', 'aiff'].map((kind) => `audio/${kind}`);

/**
 * Content of a result: a text for a single text block, else a list of parts. A block that ATIF has no part for is
 * replaced by its kind.
 */
export function toAtifContent(content: readonly ContentBlock[], field: string, context: AtifContext) {
  const [first, ...others] = content;
  if (others.length === 0 && first?.type === 'text' && typeof first.text === 'string') return first.text;
  return toAtifParts(content, field, context);
}

/** Content of a message. A list stays a list. */
export function toAtifParts(
  content: string | readonly ContentBlock[],
  field: string,
  context: AtifContext,
): string | JsonObject[] {
  if (typeof content === 'string' || content.length === 0) return typeof content === 'string' ? content : '';
  return content.map((block) => toPart(block, field, context));
}

function toPart({ type, text, data, mimeType }: ContentBlock, field: string, context: AtifContext): JsonObject {
  if (type === 'text' && typeof text === 'string') return { type: 'text', text };
  const types = type === 'image' ? IMAGE_TYPES : type === 'audio' && context.hasAudio ? AUDIO_TYPES : [];
  if (typeof data === 'string' && typeof mimeType === 'string' && types.includes(mimeType)) {
    const path = addressOrLoss({ mimeType, data }, field, context);
    if (path !== undefined) return { type, source: { media_type: mimeType, path } };
  }
  return { type: 'text', text: `[${type}]` };
}

/** One part in a file. */
export interface AtifPart {
  readonly type: string;
  readonly text?: string | null | undefined;
  readonly source?: { readonly media_type: string; readonly path: string } | null | undefined;
}

/** The reverse of `toAtifContent`. @param lose is called for bytes that are not read. */
export function fromAtifContent(
  content: string | readonly AtifPart[] | null | undefined,
  bytesAt: (address: string) => TraceBytes | undefined,
  lose: () => void,
): ContentBlock[] {
  if (content === null || content === undefined) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map(({ type, text, source }) => {
    if (source === null || source === undefined) return { type: 'text', text: text ?? '' };
    const bytes = bytesAt(source.path);
    if (bytes !== undefined) return { type, data: bytes.data, mimeType: source.media_type };
    lose();
    return { type: 'text', text: `[${type} ${source.path.slice(0, 500)}]` };
  });
}
