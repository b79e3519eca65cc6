import type { DialectName } from './dialect.ts';

/** A request to a model address, recognized by its method and path. */
export type Operation =
  | {
      readonly kind: 'generate' | 'count_tokens';
      readonly dialect: DialectName;
      /** Model in the path (Gemini). */
      readonly model?: string;
      readonly isStreamed?: boolean;
    }
  | { readonly kind: 'list_models'; readonly dialect: DialectName }
  | { readonly kind: 'get_model'; readonly dialect: DialectName; readonly model: string };

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * The operation of a request to a model address; undefined for another path. A version in the path may be missing or
 * doubled, because clients append different parts to a base address.
 *
 * @param path without a query.
 */
export function findOperation(
  method: string,
  path: string,
  { headers, query }: { readonly headers: Headers; readonly query: URLSearchParams },
): Operation | undefined {
  const rest = path.replace(VERSIONS, '');
  if (method === 'POST') return POSTS[rest] ?? geminiOperation(rest);
  if (method !== 'GET' && method !== 'HEAD') return undefined;
  if (rest === '/models') return { kind: 'list_models', dialect: dialectOfModels(headers, query) };
  const model = /^\/models\/(.+)$/s.exec(rest)?.[1];
  if (model === undefined) return undefined;
  return { kind: 'get_model', dialect: dialectOfModels(headers, query), model: decoded(model) };
}

/** True if the agent's client library marks the request as a retry. */
export function isSdkRetry(headers: Headers): boolean {
  return Number(headers['x-stainless-retry-count'] ?? 0) > 0;
}

const VERSIONS = /^(?:\/v1(?:beta\d*|alpha)?(?=\/))+/;

const POSTS: Readonly<Record<string, Operation>> = {
  '/chat/completions': { kind: 'generate', dialect: 'chat' },
  '/responses': { kind: 'generate', dialect: 'responses' },
  '/responses/input_tokens': { kind: 'count_tokens', dialect: 'responses' },
  '/messages': { kind: 'generate', dialect: 'messages' },
  '/messages/count_tokens': { kind: 'count_tokens', dialect: 'messages' },
};

function geminiOperation(path: string): Operation | undefined {
  const [, name, verb] = /^\/models\/(.+):(\w+)$/s.exec(path) ?? [];
  if (name === undefined || verb === undefined) return undefined;
  const model = decoded(name);
  if (verb === 'countTokens') return { kind: 'count_tokens', dialect: 'gemini', model };
  if (verb === 'generateContent') return { kind: 'generate', dialect: 'gemini', model, isStreamed: false };
  if (verb === 'streamGenerateContent') return { kind: 'generate', dialect: 'gemini', model, isStreamed: true };
  return undefined;
}

/** Recognizes the dialect by headers, because the paths for listing models are the same in all dialects. */
function dialectOfModels(headers: Headers, query: URLSearchParams): DialectName {
  if (headers['x-goog-api-key'] !== undefined || query.has('key')) return 'gemini';
  return headers['anthropic-version'] === undefined ? 'chat' : 'messages';
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
