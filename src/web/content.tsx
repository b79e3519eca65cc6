import type { ContentBlock } from '../contract/chat.ts';
import type { ContentPart } from '../contract/scenario.ts';
import { formatJson } from './format.ts';

const SHOWN_IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const BLOB_PREFIX = 'svc-blob://sha256/';

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
  if (!SHOWN_IMAGE_TYPES.has(mimeType))
    return <p class="quiet">{`An image of type ${mimeType}, which is not shown here.`}</p>;
  const source = data.startsWith(BLOB_PREFIX)
    ? `/v1/blobs/${data.slice(BLOB_PREFIX.length)}`
    : `data:${mimeType};base64,${data}`;
  return <img src={source} alt="Returned by the tool" loading="lazy" />;
}

function layOutJson(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return formatJson(JSON.parse(text));
  } catch {
    return text;
  }
}
