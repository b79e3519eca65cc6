import {
  type Client,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type Resource,
  type ResourceTemplateType,
  type Tool,
} from '@modelcontextprotocol/client';
import { isTooDeep, MAX_JSON_DEPTH } from '../contract/json-depth.ts';
import { NAME_PATTERN } from '../contract/names.ts';
import type { ConnectionDefinition } from '../environment/connection.ts';
import { LONGEST_TIMER_MS } from '../runtime/longest-timer.ts';
import { preview } from '../schema/json-schema.ts';
import { matchesToolPatterns } from '../text/tool-patterns.ts';
import { withoutOwnMeta } from './own-meta.ts';

/** Limit of one list. A server that gives more never ends its list, or is not made for an agent. */
const MAX_PAGES = 100;
const MAX_ENTRIES = 1_000;
/** Characters of all lists as JSON: each session holds them, and each list of ours sends them. */
const MAX_CATALOGUE_LENGTH = 4 * 1024 * 1024;
/** Resources of Proctor itself. A connected environment has them too; they describe that environment. */
const OWN_SCHEME = 'svc://';

/** Something of a connected server under the name that it has in the environment. */
export interface Connected<Entry> {
  /** As the server knows it. */
  readonly original: string;
  readonly entry: Entry;
}

/** The tools, resources and prompts that an environment takes from a connected server. */
export interface UpstreamCatalogue {
  readonly tools: readonly Connected<Tool>[];
  readonly resources: readonly Connected<Resource>[];
  readonly templates: readonly Connected<ResourceTemplateType>[];
  readonly prompts: readonly Connected<Prompt>[];
}

export interface ReadOptions {
  readonly signal: AbortSignal;
  /** Takes what is left out, and why. */
  readonly report: (text: string) => void;
}

/**
 * Reads the lists of a server to their ends.
 *
 * @throws Error for a tool whose name is not fit here, and for lists without a sane end; whatever the server answers.
 */
export async function readCatalogue(
  client: Client,
  definition: ConnectionDefinition,
  { signal, report }: ReadOptions,
): Promise<UpstreamCatalogue> {
  const has = client.getServerCapabilities() ?? {};
  const options = { signal, timeout: LONGEST_TIMER_MS };
  const list = <Entry>(isThere: boolean, what: string, read: ReadPage<Entry>) =>
    isThere ? readPages(what, read) : Promise.resolve([]);
  const tools = await list(has.tools !== undefined, 'tools', async (params) => {
    const { tools: entries, nextCursor } = await client.request({ method: 'tools/list', params }, options);
    return { entries, nextCursor };
  });
  const resources = await list(has.resources !== undefined, 'resources', async (params) => {
    const { resources: entries, nextCursor } = await client.request({ method: 'resources/list', params }, options);
    return { entries, nextCursor };
  });
  const templates = await list(has.resources !== undefined, 'resource templates', async (params) => {
    const method = 'resources/templates/list';
    const { resourceTemplates: entries, nextCursor } = await client
      .request({ method, params }, options)
      .catch(orNoTemplates);
    return { entries, nextCursor };
  });
  const prompts = await list(has.prompts !== undefined, 'prompts', async (params) => {
    const { prompts: entries, nextCursor } = await client.request({ method: 'prompts/list', params }, options);
    return { entries, nextCursor };
  });
  const catalogue = {
    tools: tools.filter((tool) => isTaken(tool, definition, report)).map((tool) => toConnectedTool(tool, definition)),
    resources: resources
      .filter(({ uri }) => !uri.startsWith(OWN_SCHEME))
      .map((entry) => ({ original: entry.uri, entry: withoutOwnMeta(entry) })),
    templates: templates
      .filter(({ uriTemplate }) => !uriTemplate.startsWith(OWN_SCHEME))
      .map((entry) => ({ original: entry.uriTemplate, entry: withoutOwnMeta(entry) })),
    prompts: prompts.map((entry) => ({
      original: entry.name,
      entry: { ...withoutOwnMeta(entry), name: nameIn(definition, entry.name) },
    })),
  };
  if (JSON.stringify(catalogue).length > MAX_CATALOGUE_LENGTH) {
    throw new Error(`its lists are longer than ${MAX_CATALOGUE_LENGTH / 1024 / 1024} MiB: take less with include`);
  }
  return catalogue;
}

type ReadPage<Entry> = (params: { cursor?: string }) => Promise<{
  readonly entries: readonly Entry[];
  readonly nextCursor: string | undefined;
}>;

async function readPages<Entry>(what: string, read: ReadPage<Entry>): Promise<Entry[]> {
  const all: Entry[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { entries, nextCursor } = await read(cursor === undefined ? {} : { cursor });
    if (isTooDeep(entries)) throw new Error(`its list of ${what} is nested more than ${MAX_JSON_DEPTH} deep`);
    all.push(...entries);
    if (all.length > MAX_ENTRIES) throw new Error(`it lists more than ${MAX_ENTRIES} ${what}`);
    if (nextCursor === undefined) return all;
    cursor = nextCursor;
  }
  throw new Error(`it gives more than ${MAX_PAGES} pages of ${what} and does not end its list`);
}

/** Templates came later than resources: a server that has none may not know the request. */
function orNoTemplates(error: unknown): { resourceTemplates: ResourceTemplateType[]; nextCursor: undefined } {
  if (error instanceof ProtocolError && error.code === ProtocolErrorCode.MethodNotFound) {
    return { resourceTemplates: [], nextCursor: undefined };
  }
  throw error;
}

function isTaken({ name, execution }: Tool, definition: ConnectionDefinition, report: ReadOptions['report']): boolean {
  const { include, exclude } = definition;
  if (!matchesToolPatterns(name, include) || matchesToolPatterns(name, exclude)) return false;
  if (execution?.taskSupport !== 'required') return true;
  report(`its tool ${preview(name)} is left out: it runs as a task alone, which environments do not offer`);
  return false;
}

function toConnectedTool(tool: Tool, definition: ConnectionDefinition): Connected<Tool> {
  const { execution: _execution, ...entry } = withoutOwnMeta(tool);
  const name = nameIn(definition, tool.name);
  if (!NAME_PATTERN.test(name)) {
    const here = name === tool.name ? 'which' : `here ${preview(name)}, which`;
    throw new Error(
      `its tool ${preview(tool.name)}, ${here} has to match ${NAME_PATTERN.source}, cannot be taken: choose another prefix, or exclude it`,
    );
  }
  return { original: tool.name, entry: { ...entry, name } };
}

function nameIn({ prefix }: ConnectionDefinition, name: string): string {
  return prefix === undefined ? name : `${prefix}_${name}`;
}
