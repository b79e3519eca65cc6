import { type CallView, type Entry, stepName } from '../timeline.ts';

const SHOWN_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const BLOB_REFERENCE = /^svc-blob:\/\/sha256\/([0-9a-f]{64})$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Where something was clicked on a picture, in its pixels. */
export interface Mark {
  readonly x: number;
  readonly y: number;
  readonly label: string;
}

/** An image of a run. */
export interface Picture {
  readonly source: string;
  readonly entryId: string;
  /** `step 3 · screenshot`. */
  readonly label: string;
  /** The next actions on it, by the calls that name a place. */
  readonly marks: readonly Mark[];
}

/** Undefined where a type can hold more than a picture. */
export function isShownType(mimeType: unknown): boolean {
  return typeof mimeType === 'string' && SHOWN_TYPES.has(mimeType);
}

/** The address of an image block. An environment chose `data`: what is neither bytes nor a reference to some is no address. */
export function toSource(
  data: unknown,
  mimeType: unknown,
  blobAddress: (sha256: string) => string,
): string | undefined {
  if (!isShownType(mimeType) || typeof data !== 'string') return undefined;
  const sha256 = BLOB_REFERENCE.exec(data)?.[1];
  if (sha256 !== undefined) return blobAddress(sha256);
  return BASE64.test(data) ? `data:${mimeType};base64,${data}` : undefined;
}

/** The pictures of these entries in their order, each with the places that were clicked while it was the last one. */
export function collectPictures(
  entries: readonly Entry[],
  blobAddress: (sha256: string) => string,
): readonly Picture[] {
  const pictures: (Picture & { marks: Mark[] })[] = [];
  const add = (block: unknown, entryId: string, label: string) => {
    if (typeof block !== 'object' || block === null || !('type' in block) || block.type !== 'image') return;
    const { data, mimeType } = block as { readonly data?: unknown; readonly mimeType?: unknown };
    const source = toSource(data, mimeType, blobAddress);
    if (source !== undefined) pictures.push({ source, entryId, label, marks: [] });
  };
  for (const entry of entries) {
    if (entry.kind === 'setup' || entry.kind === 'turn') {
      const messages = entry.kind === 'setup' ? entry.event.prompt : entry.event.messages;
      for (const { content } of messages) {
        if (typeof content !== 'string')
          for (const part of content) add(part, entry.id, entry.kind === 'setup' ? 'prompt' : 'message');
      }
    }
    if (entry.kind !== 'step') continue;
    for (const call of entry.calls) {
      const mark = markOf(call);
      if (mark !== undefined) pictures.at(-1)?.marks.push({ ...mark, label: `${stepName(entry.step)}: ${mark.label}` });
      for (const block of call.result?.content ?? []) add(block, entry.id, `${stepName(entry.step)} · ${call.name}`);
    }
  }
  return pictures;
}

/** The place that a call names, as computer-use tools do: `x` and `y`, or `coordinate: [x, y]`. */
export function markOf({ name, arguments: given }: Pick<CallView, 'name' | 'arguments'>): Mark | undefined {
  const pair = given.coordinate ?? given.coordinates ?? given.position ?? given.point;
  const [x, y] = Array.isArray(pair) ? pair : [given.x, given.y];
  if (typeof x !== 'number' || typeof y !== 'number' || x < 0 || y < 0) return undefined;
  const action = typeof given.action === 'string' ? given.action : name;
  return { x, y, label: `${action} at ${x}, ${y}` };
}
