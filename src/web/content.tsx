import type { ContentBlock } from '../contract/chat.ts';
import type { ContentPart } from '../contract/scenario.ts';
import { formatJson, preview } from './format.ts';

const SHOWN_IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const BLOB_REFERENCE = /^svc-blob:\/\/sha256\/([0-9a-f]{64})$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Text of a prompt or a reply, as it was written: never interpreted. */
export function Text({ text }: { readonly text: string }) {
  return <pre class="text">{text}</pre>;
}

export function Json({ value }: { readonly value: unknown }) {
  return <pre class="json">{formatJson(value)}</pre>;
}

export function MessageContent({ content }: { readonly content: string | readonly ContentPart[] }) {
  if (typeof content === 'string') return <Text text={content} />;
  return (
    <>
      {content.map((part, index) => (
        <Block key={index} block={part} />
      ))}
    </>
  );
}

/** One MCP content block. JSON in a text block is laid out; everything else is shown as it came. */
export function Block({ block }: { readonly block: ContentBlock | ContentPart }) {
  if (block.type === 'text' && typeof block.text === 'string') return <Text text={layOutJson(block.text)} />;
  if (block.type === 'image') return <Image data={String(block.data)} mimeType={String(block.mimeType)} />;
  return <Json value={block} />;
}

function Image({ data, mimeType }: { readonly data: string; readonly mimeType: string }) {
  if (!SHOWN_IMAGE_TYPES.has(mimeType)) {
    return <p class="quiet">{`An image of type ${preview(mimeType)}, which is not shown here.`}</p>;
  }
  const source = toSource(data, mimeType);
  if (source === undefined) return <p class="quiet">{`An image whose bytes cannot be read: ${preview(data)}`}</p>;
  return <img src={source} alt={`${mimeType} of this trace`} loading="lazy" />;
}

/** An environment chose `data`: what is neither bytes nor a reference to some must not become an address. */
function toSource(data: string, mimeType: string): string | undefined {
  const sha256 = BLOB_REFERENCE.exec(data)?.[1];
  if (sha256 !== undefined) return `/v1/blobs/${sha256}`;
  return BASE64.test(data) ? `data:${mimeType};base64,${data}` : undefined;
}

function layOutJson(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return formatJson(JSON.parse(text));
  } catch {
    return text;
  }
}
