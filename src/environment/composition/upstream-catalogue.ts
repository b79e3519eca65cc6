import type { Prompt, Resource, ResourceTemplateType, Tool } from '@modelcontextprotocol/client';
import { isTooDeep, MAX_JSON_DEPTH } from '../../contract/json-depth.ts';
import { NAME_PATTERN } from '../../contract/names.ts';
import { preview } from '../../support/schema/json-schema.ts';
import { matchesToolPatterns } from '../../support/text/tool-patterns.ts';
import type { ConnectionDefinition } from '../authoring/connection.ts';
import type { McpConnection } from '../mcp-client/connection.ts';
import { type ListKind, readList } from '../mcp-client/reading.ts';
import { withoutReservedMeta } from './reserved-meta.ts';

/** Maximum number of entries in one list. Agents cannot use longer lists. */
const MAX_ENTRIES = 1_000;
/** Maximum number of characters of all lists as JSON. Each session keeps them and sends them with its own lists. */
const MAX_CATALOGUE_LENGTH = 4 * 1024 * 1024;
/**
 * Scheme of Proctor's own resources. If the connected server is an environment, its resources of this scheme describe
 * that server and are left out.
 */
const OWN_SCHEME = 'svc://';

/** An entry of a connected server under its name in the environment. */
export interface Connected<Entry> {
  /** The name or URI at the connected server. */
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
  /** Logs each entry that is left out, with the reason. */
  readonly report: (text: string) => void;
}

/**
 * Reads all lists of a server.
 *
 * @throws Error for a tool name that is not allowed here, and for lists that are too long or too deep; errors that the
 *   server answers.
 */
export async function readCatalogue(
  connection: McpConnection,
  definition: ConnectionDefinition,
  { signal, report }: ReadOptions,
): Promise<UpstreamCatalogue> {
  const toError = (words: string) => new Error(`it ${words}`);
  const list = async <Kind extends ListKind>(kind: Kind) => {
    const entries = await readList(connection, kind, { signal, maxEntries: MAX_ENTRIES, toError });
    if (isTooDeep(entries)) throw toError(`gave a list that is nested more than ${MAX_JSON_DEPTH} deep`);
    return entries;
  };
  const tools = await list('tools');
  const resources = await list('resources');
  const templates = await list('resourceTemplates');
  const prompts = await list('prompts');
  const catalogue = {
    tools: tools.filter((tool) => isTaken(tool, definition, report)).map((tool) => toConnectedTool(tool, definition)),
    resources: resources
      .filter(({ uri }) => !uri.startsWith(OWN_SCHEME))
      .map((entry) => ({ original: entry.uri, entry: withoutReservedMeta(entry) })),
    templates: templates
      .filter(({ uriTemplate }) => !uriTemplate.startsWith(OWN_SCHEME))
      .map((entry) => ({ original: entry.uriTemplate, entry: withoutReservedMeta(entry) })),
    prompts: prompts.map((entry) => ({
      original: entry.name,
      entry: { ...withoutReservedMeta(entry), name: nameIn(definition, entry.name) },
    })),
  };
  if (JSON.stringify(catalogue).length > MAX_CATALOGUE_LENGTH) {
    throw new Error(`its lists are longer than ${MAX_CATALOGUE_LENGTH / 1024 / 1024} MiB: take less with include`);
  }
  return catalogue;
}

function isTaken({ name, execution }: Tool, definition: ConnectionDefinition, report: ReadOptions['report']): boolean {
  const { include, exclude } = definition;
  if (!matchesToolPatterns(name, include) || matchesToolPatterns(name, exclude)) return false;
  if (execution?.taskSupport !== 'required') return true;
  report(`its tool ${preview(name)} is left out: it runs as a task alone, which environments do not offer`);
  return false;
}

function toConnectedTool(tool: Tool, definition: ConnectionDefinition): Connected<Tool> {
  const { execution: _execution, ...entry } = withoutReservedMeta(tool);
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
