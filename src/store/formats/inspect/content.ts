import { isDeepStrictEqual } from 'node:util';
import type { ContentBlock } from '../../../contract/chat.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { addressOrLoss } from '../addresses.ts';
import type { TraceBytes, WriteContext } from '../format.ts';

const AUDIO_FORMATS: Readonly<Record<string, string>> = { 'audio/wav': 'wav', 'audio/mpeg': 'mp3' };

/**
 * Content in Inspect's form: a text for a single text block, else a list. A block of another kind is replaced by its
 * kind.
 */
export function toInspectContent(
  content: string | readonly ContentBlock[],
  field: string,
  context: WriteContext,
): string | JsonObject[] {
  if (typeof content === 'string') return content;
  if (content.length === 0) return '';
  return content.map((block) => toItem(block, field, context));
}

function toItem({ type, text, data, mimeType }: ContentBlock, field: string, context: WriteContext): JsonObject {
  if (type === 'text' && typeof text === 'string') return { type: 'text', text };
  const format = typeof mimeType === 'string' ? AUDIO_FORMATS[mimeType] : undefined;
  const isKnown = type === 'image' || (type === 'audio' && format !== undefined);
  if (isKnown && typeof data === 'string' && typeof mimeType === 'string') {
    const address = addressOrLoss({ mimeType, data }, field, context);
    if (address !== undefined && type === 'image') return { type, image: address };
    if (address !== undefined && format !== undefined) return { type, audio: address, format };
  }
  return { type: 'text', text: `[${type}]` };
}

/** One item of a list in a file. */
export interface InspectItem {
  readonly type: string;
  readonly text?: unknown;
  readonly image?: unknown;
  readonly audio?: unknown;
  readonly [name: string]: unknown;
}

/**
 * The reverse of `toInspectContent`, except for reasoning. @param lose is called with the kind of each item that is not
 * read.
 */
export function fromInspectContent(
  content: string | readonly InspectItem[] | null | undefined,
  bytesAt: (address: string) => TraceBytes | undefined,
  lose: (kind: string) => void,
): ContentBlock[] {
  if (content === null || content === undefined) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.flatMap((item): ContentBlock[] => {
    if (item.type === 'reasoning') return [];
    if (item.type === 'text') return [{ type: 'text', text: typeof item.text === 'string' ? item.text : '' }];
    const address = item.type === 'image' ? item.image : item.type === 'audio' ? item.audio : undefined;
    const bytes = typeof address === 'string' ? bytesAt(address) : undefined;
    if (bytes !== undefined) return [{ type: item.type, data: bytes.data, mimeType: bytes.mimeType }];
    lose(item.type);
    return [{ type: 'text', text: `[${item.type.slice(0, 50)}]` }];
  });
}

/** True when a reader gets the same content back. An empty list and a single text have forms of their own. */
export function isReadBack(
  content: string | readonly ContentBlock[],
  written: string | JsonObject[],
  context: WriteContext,
): boolean {
  if (typeof content === 'string') return true;
  if (typeof written === 'string') return false;
  const bytesAt = (address: string) => {
    const found = content.find((block) => isBytes(block) && context.addressOf(block) === address);
    return found !== undefined && isBytes(found) ? { data: found.data, mimeType: found.mimeType } : undefined;
  };
  return isDeepStrictEqual(
    fromInspectContent(written as unknown as InspectItem[], bytesAt, () => {}), // `toItem` creates items of this form.
    content,
  );
}

function isBytes(block: ContentBlock): block is ContentBlock & TraceBytes {
  return typeof block.data === 'string' && typeof block.mimeType === 'string';
}
