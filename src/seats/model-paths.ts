import type { IncomingMessage } from 'node:http';
import type { DialectName } from '../dialects/dialect.ts';

/** A request of an agent to its model, as path and headers tell it. */
export interface ModelTarget {
  readonly dialect: DialectName;
  readonly operation: 'generate' | 'count_tokens' | 'list' | 'show' | 'upgrade';
  /** Name of the model in the path. */
  readonly model: string | undefined;
  /** Whether the path asks for a stream; undefined where the body does. */
  readonly isStreamed: boolean | undefined;
  /** Without a prefix that is the same for every path of the dialect. */
  readonly path: string;
}

const POSTS: Readonly<Record<string, Pick<ModelTarget, 'dialect' | 'operation'>>> = {
  '/chat/completions': { dialect: 'chat', operation: 'generate' },
  '/responses': { dialect: 'responses', operation: 'generate' },
  '/messages': { dialect: 'messages', operation: 'generate' },
  '/messages/count_tokens': { dialect: 'messages', operation: 'count_tokens' },
};

const GEMINI = /^\/(?:models|tunedModels)\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/;

/** The target of a request; undefined for a path at which no dialect has anything. A doubled prefix counts once. */
export function toModelTarget(request: IncomingMessage, path: string): ModelTarget | undefined {
  const rest = path.replace(/^(?:\/v1(?:beta|alpha)?)+(?=\/)/, '');
  const base = { model: undefined, isStreamed: undefined, path: rest };
  const post = POSTS[rest];
  if (post !== undefined) {
    const isUpgrade = request.method === 'GET' && wantsWebSocket(request);
    if (isUpgrade) return { ...base, ...post, operation: 'upgrade' };
    return request.method === 'POST' || request.method === 'OPTIONS' ? { ...base, ...post } : undefined;
  }
  const [, model, action] = GEMINI.exec(rest) ?? [];
  if (model !== undefined && (request.method === 'POST' || request.method === 'OPTIONS')) {
    const operation = action === 'countTokens' ? 'count_tokens' : 'generate';
    const isStreamed = action === 'streamGenerateContent';
    return { dialect: 'gemini', operation, model: decoded(model), isStreamed, path: rest };
  }
  const [, shown] = /^\/models(?:\/([^/]+))?$/.exec(rest) ?? [];
  const isList = rest === '/models' || shown !== undefined;
  if (!isList || (request.method !== 'GET' && request.method !== 'HEAD')) return undefined;
  const operation = shown === undefined ? 'list' : 'show';
  return { ...base, dialect: dialectOfList(request), operation, model: shown === undefined ? undefined : decoded(shown) };
}

/** Whether the path is one that nothing but a dialect has: it is theirs with any secret, and without. */
export function isModelPath(path: string): boolean {
  if (!/^\/v1(?:beta|alpha)?\//.test(path)) return false;
  const rest = path.replace(/^(?:\/v1(?:beta|alpha)?)+(?=\/)/, '');
  return POSTS[rest] !== undefined || GEMINI.test(rest);
}

export function wantsWebSocket({ headers }: IncomingMessage): boolean {
  return /\bwebsocket\b/i.test(headers.upgrade ?? '');
}

/** All three have their list at one path. */
function dialectOfList({ headers, url = '' }: IncomingMessage): DialectName {
  if (headers['x-goog-api-key'] !== undefined || /[?&]key=/.test(url)) return 'gemini';
  return headers['anthropic-version'] === undefined ? 'chat' : 'messages';
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
