import { isJsonObject, type Json } from '../contract/json.ts';

/** Few texts have more tokens: English has half as many, and each Chinese character (three bytes) one or two. */
const BYTES_PER_TOKEN = 2;
/** An image, sound or file is counted by what it shows, not by its bytes. Providers take 85 to about 3,000. */
const TOKENS_OF_MEDIA = 4_000;
/** Names, roles and separators that the gateway puts around a message or tool. */
const TOKENS_OF_ENTRY = 8;
const MEDIA: ReadonlySet<string> = new Set(['image_url', 'input_audio', 'file']);

/** Tokens that a request has at most, by its length: messages, tools and the schema of its answer. */
export function estimatePromptTokens(body: object): number {
  const { messages, tools, response_format }: Record<string, Json> = { ...body };
  return tokensOf(messages) + tokensOf(tools) + tokensOf(response_format);
}

/** Tokens of what a model said, by its length. */
export function estimateTokens(characters: number): number {
  return Math.ceil(characters / BYTES_PER_TOKEN);
}

function tokensOf(value: Json | undefined): number {
  if (typeof value === 'string') return Math.ceil(Buffer.byteLength(value) / BYTES_PER_TOKEN);
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + TOKENS_OF_ENTRY + tokensOf(each), 0);
  if (!isJsonObject(value)) return value === undefined ? 0 : 2;
  if (typeof value.type === 'string' && MEDIA.has(value.type)) return TOKENS_OF_MEDIA;
  return Object.entries(value).reduce((sum, [name, each]) => sum + estimateTokens(name.length + 4) + tokensOf(each), 0);
}
