import type { ContentBlock } from '../contract/chat.ts';
import type { ContentPart } from '../contract/scenario.ts';
import { type ProviderTool, toProviderTool } from './provider-tools.ts';

/** Parts of a request's contents, and the parts that a provider would have to fetch or to keep. */
export class PartReader {
  readonly providerTools: ProviderTool[] = [];
  readonly remoteImages: string[] = [];

  text(text: string): ContentPart {
    return { type: 'text', text };
  }

  /** Bytes as base64. What is no image is text that names it, since no gateway of ours takes it. */
  bytes(data: string, mimeType: string, name?: string): ContentPart {
    if (/^image\//i.test(mimeType)) return { type: 'image', data, mimeType: mimeType.toLowerCase() };
    return this.text(`(file ${name === undefined ? '' : `${name}, `}${mimeType}, which this model does not get)`);
  }

  /** A `data:` URL, or the address of an image. */
  imageUrl(url: string): ContentPart {
    const data = fromDataUrl(url);
    if (data !== undefined) return this.bytes(data.data, data.mimeType);
    this.remoteImages.push(url);
    return this.text(`(image at ${url})`);
  }

  /** A file inside the request: a `data:` URL, or base64 of what its name tells. */
  file(content: string, name: string): ContentPart {
    const { data, mimeType } = fromDataUrl(content) ?? { data: content, mimeType: 'application/octet-stream' };
    return this.bytes(data, mimeType, name === '' ? undefined : name);
  }

  /** A file that the provider keeps, or that it would fetch. */
  kept(type: 'files' | 'web_fetch', name: string): ContentPart {
    this.providerTools.push(toProviderTool(type));
    return this.text(`(file ${name})`);
  }
}

/** Parts of a message as blocks of a tool's result. */
export function toBlocks(content: string | readonly ContentPart[]): ContentBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content.map((part) => ({ ...part }));
}

/** The texts of parts, one below the other; an image is named. */
export function textOfParts(content: string | readonly ContentPart[]): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : `(${part.mimeType} image)`)).join('\n');
}

function fromDataUrl(url: string): { readonly data: string; readonly mimeType: string } | undefined {
  // By its start alone: a pattern over megabytes of base64 takes long.
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
