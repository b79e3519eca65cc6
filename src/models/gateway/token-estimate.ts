import { isJsonObject, type Json } from '../../contract/json.ts';

/**
 * Low estimate, so that few texts have more tokens. English has about half as many; a Chinese character (3 bytes) has
 * one or two.
 */
const BYTES_PER_TOKEN = 2;
/** Tokens of an image, sound or file, whose bytes say nothing. Providers count 85 to about 3,000. */
const TOKENS_OF_MEDIA = 4_000;
/** Tokens for the name, role and separators of a message or tool. */
const TOKENS_OF_ENTRY = 8;
const MEDIA: ReadonlySet<string> = new Set(['image_url', 'input_audio', 'file']);

/** Upper estimate of a request's tokens by length: messages, tools and the answer's schema. */
export function estimatePromptTokens(body: object): number {
  const { messages, tools, response_format }: Record<string, Json> = { ...body };
  return tokensOf(messages) + tokensOf(tools) + tokensOf(response_format);
}

/** Estimated tokens of a model's output by length. */
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
