/** MCP's annotations of a content block: its audience, its priority and its age. */
export interface ContentAnnotations {
  readonly audience?: readonly ('user' | 'assistant')[];
  /** A number from 0 (optional) to 1 (required). */
  readonly priority?: number;
  /** Time in ISO 8601. */
  readonly lastModified?: string;
}

export interface ContentOptions {
  readonly annotations?: ContentAnnotations;
}

/** An image in a result of a tool, alone or in an array of content blocks, or in a prompt. */
export interface ImageContent extends ContentOptions {
  readonly type: 'image';
  /** The bytes of the image in base64. */
  readonly data: string;
  readonly mimeType: string;
}

/** A sound in a result of a tool, or in an MCP prompt. */
export interface AudioContent extends ContentOptions {
  readonly type: 'audio';
  /** The bytes of the sound in base64. */
  readonly data: string;
  readonly mimeType: string;
}

/** The content of a resource, inside a result or an MCP prompt. */
export interface EmbeddedResource extends ContentOptions {
  readonly type: 'resource';
  readonly resource:
    | { readonly uri: string; readonly mimeType: string; readonly text: string }
    /** The bytes of the resource in base64. */
    | { readonly uri: string; readonly mimeType: string; readonly blob: string };
}

/** A link to a resource, which the client reads if it wants to. */
export interface ResourceLink extends ContentOptions {
  readonly type: 'resource_link';
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

/**
 * Makes an image from base64 text or from bytes.
 *
 * @throws TypeError if `mimeType` is not that of an image, such as `image/png`.
 *
 * @example
 * ```ts
 * env.tool('picture', {}, () => image(CHART, 'image/png'));
 * ```
 */
export function image(data: string | Uint8Array, mimeType: string, options: ContentOptions = {}): ImageContent {
  checkMimeType('image', mimeType);
  return marked({ type: 'image', data: toBase64(data), mimeType, ...pick(options) });
}

/**
 * Makes a sound from base64 text or from bytes.
 *
 * @throws TypeError if `mimeType` is not that of a sound, such as `audio/wav`.
 */
export function audio(data: string | Uint8Array, mimeType: string, options: ContentOptions = {}): AudioContent {
  checkMimeType('audio', mimeType);
  return marked({ type: 'audio', data: toBase64(data), mimeType, ...pick(options) });
}

/**
 * Puts the content of a resource, text or bytes, into a result. Default of `mimeType`: `text/plain` for text,
 * `application/octet-stream` for bytes.
 */
export function embeddedResource(
  uri: string,
  content: string | Uint8Array,
  { mimeType, ...options }: ContentOptions & { readonly mimeType?: string } = {},
): EmbeddedResource {
  const resource =
    typeof content === 'string'
      ? { uri, mimeType: mimeType ?? 'text/plain', text: content }
      : { uri, mimeType: mimeType ?? 'application/octet-stream', blob: toBase64(content) };
  return marked({ type: 'resource', resource, ...pick(options) });
}

/** Makes a link to a resource of this environment, or to any other resource that the client can read. */
export function resourceLink(
  uri: string,
  name: string,
  options: ContentOptions & Pick<ResourceLink, 'title' | 'description' | 'mimeType'> = {},
): ResourceLink {
  return marked({ type: 'resource_link', uri, name, ...options });
}

/** True for content made by the functions of this file, also in another copy of this package. */
export function isMarkedContent(value: unknown): value is { readonly type: string } {
  return typeof value === 'object' && value !== null && CONTENT in value;
}

const CONTENT = Symbol.for('proctor.content');

/** Marks a content block. Without the mark, a plain object that happens to look like a block is sent as plain JSON. */
function marked<Block extends object>(block: Block): Block {
  return Object.defineProperty(block, CONTENT, { value: true });
}

function pick({ annotations }: ContentOptions): ContentOptions {
  return annotations === undefined ? {} : { annotations };
}

function toBase64(data: string | Uint8Array): string {
  if (typeof data === 'string') return data;
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
}

function checkMimeType(kind: 'image' | 'audio', mimeType: string): void {
  if (typeof mimeType === 'string' && mimeType.startsWith(`${kind}/`)) return;
  const what = kind === 'image' ? 'an image, such as image/png' : 'a sound, such as audio/wav';
  throw new TypeError(`${kind}() takes the MIME type of ${what}, got ${JSON.stringify(mimeType)}`);
}
