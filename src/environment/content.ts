/** MCP's annotations of a content block: its audience, its priority and its age. */
export interface ContentAnnotations {
  readonly audience?: readonly ('user' | 'assistant')[];
  /** 0 (may be left out) to 1 (needed). */
  readonly priority?: number;
  /** ISO 8601. */
  readonly lastModified?: string;
}

export interface ContentOptions {
  readonly annotations?: ContentAnnotations;
}

/** An image that a tool returns, alone or in an array of content blocks, or that stands in a prompt. */
export interface ImageContent extends ContentOptions {
  readonly type: 'image';
  /** Base64. */
  readonly data: string;
  readonly mimeType: string;
}

/** A sound that a tool returns, or that stands in an MCP prompt. */
export interface AudioContent extends ContentOptions {
  readonly type: 'audio';
  /** Base64. */
  readonly data: string;
  readonly mimeType: string;
}

/** The content of a resource inside of a result or an MCP prompt. */
export interface EmbeddedResource extends ContentOptions {
  readonly type: 'resource';
  readonly resource:
    | { readonly uri: string; readonly mimeType: string; readonly text: string }
    /** Base64. */
    | { readonly uri: string; readonly mimeType: string; readonly blob: string };
}

/** Points a client to a resource, which it reads where it wants to. */
export interface ResourceLink extends ContentOptions {
  readonly type: 'resource_link';
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

/**
 * Makes an image of base64 text or of bytes.
 *
 * @throws TypeError when `mimeType` is not that of an image, such as `image/png`.
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
 * Makes a sound of base64 text or of bytes.
 *
 * @throws TypeError when `mimeType` is not that of a sound, such as `audio/wav`.
 */
export function audio(data: string | Uint8Array, mimeType: string, options: ContentOptions = {}): AudioContent {
  checkMimeType('audio', mimeType);
  return marked({ type: 'audio', data: toBase64(data), mimeType, ...pick(options) });
}

/** Puts the content of a resource, text or bytes, into a result. `mimeType` is `text/plain` or that of bytes by default. */
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

/** Points to a resource of this environment, or to any other that the client can read. */
export function resourceLink(
  uri: string,
  name: string,
  options: ContentOptions & Pick<ResourceLink, 'title' | 'description' | 'mimeType'> = {},
): ResourceLink {
  return marked({ type: 'resource_link', uri, name, ...options });
}

/** True for what the functions of this file make, of any copy of this package. */
export function isMarkedContent(value: unknown): value is { readonly type: string } {
  return typeof value === 'object' && value !== null && CONTENT in value;
}

const CONTENT = Symbol.for('proctor.content');

/** Marked, so that a plain object that happens to look like a block stays the plain object that its author returned. */
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
