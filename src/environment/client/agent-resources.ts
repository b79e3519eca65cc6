import { META } from '../../contract/names.ts';
import type { CallOptions } from './environment-client.ts';
import type { McpEnvironmentClient } from './mcp-environment-client.ts';

/** A resource or a resource template in the list that an environment shows to agents. */
export interface AgentResource {
  readonly uri: string;
  readonly isTemplate: boolean;
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly mimeType: string | undefined;
}

type RequestSender = Pick<McpEnvironmentClient, 'request'>;

/** Marks a request as an agent's, so that the server hides what agents may not see. */
const AS_AGENT = { _meta: { [META.audience]: 'agent' } };

/** The resources that an agent may read. Empty if the environment has none or cannot list them. */
export async function listAgentResources(
  client: RequestSender,
  options: CallOptions,
): Promise<readonly AgentResource[]> {
  const ask = <Result>(asking: Promise<Result>) =>
    asking.catch((error: unknown) => {
      if (options.signal?.aborted) throw error;
      return undefined;
    });
  const [listed, templates] = await Promise.all([
    ask(client.request('resources/list', AS_AGENT, options)),
    ask(client.request('resources/templates/list', AS_AGENT, options)),
  ]);
  return [
    ...(listed?.resources ?? []).map((resource) => toEntry(resource.uri, false, resource)),
    ...(templates?.resourceTemplates ?? []).map((template) => toEntry(template.uriTemplate, true, template)),
  ];
}

/** The content of a resource; only the first part if it has several. @throws BoundaryError boundary `environment`. */
export async function readAgentResource(
  client: RequestSender,
  uri: string,
  options: CallOptions,
): Promise<string | Uint8Array | undefined> {
  const { contents } = await client.request('resources/read', { uri, ...AS_AGENT }, options);
  const [first] = contents;
  if (first === undefined) return undefined;
  return 'text' in first ? first.text : Buffer.from(first.blob, 'base64');
}

function toEntry(
  uri: string,
  isTemplate: boolean,
  about: Pick<AgentResource, 'name'> & Partial<Omit<AgentResource, 'name' | 'uri' | 'isTemplate'>>,
): AgentResource {
  const { name, title, description, mimeType } = about;
  return { uri, isTemplate, name, title, description, mimeType };
}
