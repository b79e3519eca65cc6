import {
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateType,
  type Tool,
} from '@modelcontextprotocol/client';
import type { McpConnection, RequestOptions, RequestParams } from './connection.ts';

/** Maximum number of pages of one list, for servers that never end their list. */
const MAX_PAGES = 100;

const LISTS = {
  tools: { method: 'tools/list', capability: 'tools', words: 'tools' },
  resources: { method: 'resources/list', capability: 'resources', words: 'resources' },
  resourceTemplates: { method: 'resources/templates/list', capability: 'resources', words: 'resource templates' },
  prompts: { method: 'prompts/list', capability: 'prompts', words: 'prompts' },
} as const;

export type ListKind = keyof typeof LISTS;

interface Entries {
  readonly tools: Tool;
  readonly resources: Resource;
  readonly resourceTemplates: ResourceTemplateType;
  readonly prompts: Prompt;
}

export interface ListOptions extends RequestOptions {
  readonly params?: RequestParams;
  /** Maximum number of entries. Default: no limit except the number of pages. */
  readonly maxEntries?: number;
  /** Makes the error for a list that is too long. Its text continues the name of the server. */
  readonly toError: (words: string) => Error;
}

/**
 * Reads all pages of a list. Returns an empty list if the server does not have this kind of list.
 *
 * @throws the error of `toError`; otherwise the errors of the connection's `request`.
 */
export async function readList<Kind extends ListKind>(
  connection: McpConnection,
  kind: Kind,
  { params = {}, maxEntries = Number.POSITIVE_INFINITY, toError, ...options }: ListOptions,
): Promise<Entries[Kind][]> {
  const { method, capability, words } = LISTS[kind];
  const all: Entries[Kind][] = [];
  if (connection.capabilities[capability] === undefined) return all;
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const paged = cursor === undefined ? params : { ...params, cursor };
    const result = await connection.request(method, paged, options).catch(orNoTemplates(kind));
    // The cast is safe because the SDK has checked the result against the schema of the method.
    all.push(...(result as unknown as Readonly<Record<Kind, readonly Entries[Kind][]>>)[kind]);
    if (all.length > maxEntries) throw toError(`gave more than ${maxEntries} ${words}`);
    if (result.nextCursor === undefined) return all;
    cursor = result.nextCursor;
  }
  throw toError(`gave more than ${MAX_PAGES} pages of ${words} and did not end its list`);
}

/** The JSON of a resource that consists of one text. Undefined for anything else. */
export function jsonOf({ contents: [first] }: ReadResourceResult): unknown {
  try {
    return JSON.parse(first !== undefined && 'text' in first ? first.text : '');
  } catch {
    return undefined;
  }
}

/** Returns an empty list if the server does not know resource templates, which are newer than resources. */
function orNoTemplates(kind: ListKind): (error: unknown) => { resourceTemplates: []; nextCursor: undefined } {
  return (error) => {
    const isUnknown = error instanceof ProtocolError && error.code === ProtocolErrorCode.MethodNotFound;
    if (kind === 'resourceTemplates' && isUnknown) return { resourceTemplates: [], nextCursor: undefined };
    throw error;
  };
}
