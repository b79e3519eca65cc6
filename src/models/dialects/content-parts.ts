import type { ContentBlock } from '../../contract/chat.ts';
import type { ContentPart } from '../../contract/scenario.ts';
import { type ProviderTool, toProviderTool } from './provider-tools.ts';

/** Reads the parts of a request's contents, and notes parts that a provider would have to fetch or store. */
export class PartReader {
  readonly providerTools: ProviderTool[] = [];
  readonly remoteImages: string[] = [];

  text(text: string): ContentPart {
    return { type: 'text', text };
  }

  /** Base64 bytes as an image. Other types become a text with their name, because gateways accept only images. */
  bytes(data: string, mimeType: string, name?: string): ContentPart {
    if (/^image\//i.test(mimeType)) return { type: 'image', data, mimeType: mimeType.toLowerCase() };
    return this.text(`(file ${name === undefined ? '' : `${name}, `}${mimeType}, which this model does not get)`);
  }

  /** An image from a `data:` URL, or a note about an image at another address. */
  imageUrl(url: string): ContentPart {
    const data = fromDataUrl(url);
    if (data !== undefined) return this.bytes(data.data, data.mimeType);
    this.remoteImages.push(url);
    return this.text(`(image at ${url})`);
  }

  /** A file inside the request: a `data:` URL, or base64 of an unknown type. */
  file(content: string, name: string): ContentPart {
    const { data, mimeType } = fromDataUrl(content) ?? { data: content, mimeType: 'application/octet-stream' };
    return this.bytes(data, mimeType, name === '' ? undefined : name);
  }

  /** A file that the provider has stored or would have to fetch. */
  kept(type: 'files' | 'web_fetch', name: string): ContentPart {
    this.providerTools.push(toProviderTool(type));
    return this.text(`(file ${name})`);
  }
}

/** Message parts as blocks of a tool result. */
export function toBlocks(content: string | readonly ContentPart[]): ContentBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content.map((part) => ({ ...part }));
}

/** The texts of the parts, one per line. An image becomes a note. */
export function textOfParts(content: string | readonly ContentPart[]): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : `(${part.mimeType} image)`)).join('\n');
}

function fromDataUrl(url: string): { readonly data: string; readonly mimeType: string } | undefined {
  // Only the start is matched, because a pattern over megabytes of base64 is slow.
  const comma = url.indexOf(',');
  const [, mimeType, encoding = ''] = /^data:([^;,]*)([^,]*)$/i.exec(url.slice(0, comma === -1 ? 0 : comma)) ?? [];
  if (mimeType === undefined) return undefined;
  const rest = url.slice(comma + 1);
  const data = /;base64$/i.test(encoding) ? rest : Buffer.from(safelyDecoded(rest)).toString('base64');
  return { data, mimeType: mimeType === '' ? 'text/plain' : mimeType };
}

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
