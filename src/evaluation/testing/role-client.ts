import type { ContentBlock } from '../../contract/chat.ts';
import { textOfContent } from '../../contract/content-text.ts';
import type { JsonObject, JsonSchema } from '../../contract/json.ts';
import { META } from '../../contract/names.ts';
import type { CallOptions, ToolResult } from '../../environment/client/environment-client.ts';
import type { McpEnvironmentClient } from '../../environment/client/mcp-environment-client.ts';
import { toToolResult } from '../../environment/client/mcp-tools.ts';

/**
 * The client of one side of a session: the agent, or the harness. All of its requests are that side's, and what the server hides
 * from a side it does not have.
 */
export interface RoleClient {
  tools(options?: CallOptions): Promise<readonly ListedTool[]>;
  /**
   * Calls a tool. Bad arguments and a failure of the tool are a result with `is_error`; for an agent, whose model has to
   * be told, so is a name that does not exist or is hidden.
   *
   * @throws BoundaryError when the environment cannot answer, for a harness also at an unknown name; the reason of the
   *   signal.
   */
  call(name: string, args?: object, options?: CallOptions): Promise<CallResult>;
  /** Resources and templates, in this order. */
  resources(options?: CallOptions): Promise<readonly ListedResource[]>;
  /** @throws BoundaryError boundary `environment` for a URI that does not exist. */
  read(uri: string, options?: CallOptions): Promise<ReadContent>;
  /** Prompts; each scenario is one. */
  prompts(options?: CallOptions): Promise<readonly ListedPrompt[]>;
  /** Gets a prompt; that of a scenario runs its setup. @throws BoundaryError boundary `environment`. */
  prompt(
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: CallOptions,
  ): Promise<readonly GivenMessage[]>;
}

export interface ListedTool {
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  readonly input_schema: JsonSchema;
  readonly output_schema: JsonSchema | null;
  /** MCP's, such as `readOnlyHint`. */
  readonly annotations: Readonly<Record<string, unknown>>;
}

export interface CallResult extends ToolResult {
  /** The text of its text blocks, one below the other. */
  readonly text: string;
}

export interface ListedResource {
  /** For a template: with its `{variables}`. */
  readonly uri: string;
  readonly name: string;
  readonly description: string | null;
  readonly mime_type: string | null;
}

export interface ReadContent {
  readonly uri: string;
  readonly mime_type: string | null;
  /** Null where it is bytes. */
  readonly text: string | null;
  /** Null where it is text. */
  readonly bytes: Uint8Array | null;
}

export interface ListedPrompt {
  readonly name: string;
  readonly description: string | null;
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string | null;
    readonly required: boolean;
  }[];
}

/** A message of a prompt, as MCP has it: one block of content. */
export interface GivenMessage {
  readonly role: 'user' | 'assistant';
  readonly content: ContentBlock;
}

export function createRoleClient(client: McpEnvironmentClient, audience: 'agent' | 'harness'): RoleClient {
  const _meta = { [META.audience]: audience };
  return {
    async tools(options) {
      const { tools } = await client.request('tools/list', { _meta }, options);
      return tools.map((tool) => ({
        name: tool.name,
        title: tool.title ?? null,
        description: tool.description ?? '',
        input_schema: tool.inputSchema,
        output_schema: tool.outputSchema ?? null,
        annotations: tool.annotations ?? {},
      }));
    },
    async call(name, args = {}, options) {
      const copied: JsonObject = JSON.parse(JSON.stringify(args));
      const result = await (audience === 'agent'
        ? client.call(name, copied, options)
        : callAsHarness(name, copied, options));
      return { ...result, text: textOfContent(result.content) };
    },
    async resources(options) {
      const { resources } = await client.request('resources/list', { _meta }, options);
      const { resourceTemplates } = await client.request('resources/templates/list', { _meta }, options);
      return [
        ...resources.map((resource) => toListedResource(resource.uri, resource)),
        ...resourceTemplates.map((template) => toListedResource(template.uriTemplate, template)),
      ];
    },
    async read(uri, options) {
      const { contents } = await client.request('resources/read', { uri, _meta }, options);
      const [first] = contents;
      return {
        uri: first?.uri ?? uri,
        mime_type: first?.mimeType ?? null,
        text: first !== undefined && 'text' in first ? first.text : null,
        bytes: first !== undefined && 'blob' in first ? Buffer.from(first.blob, 'base64') : null,
      };
    },
    async prompts(options) {
      const { prompts } = await client.request('prompts/list', { _meta }, options);
      return prompts.map((prompt) => ({
        name: prompt.name,
        description: prompt.description ?? null,
        arguments: (prompt.arguments ?? []).map((argument) => ({
          name: argument.name,
          description: argument.description ?? null,
          required: argument.required ?? false,
        })),
      }));
    },
    async prompt(name, args = {}, options) {
      const { messages } = await client.request('prompts/get', { name, arguments: args, _meta }, options);
      return messages.map(({ role, content }) => ({ role, content }));
    },
  };

  async function callAsHarness(name: string, args: JsonObject, options: CallOptions | undefined): Promise<ToolResult> {
    return toToolResult(await client.request('tools/call', { name, arguments: args, _meta }, options));
  }
}

function toListedResource(
  uri: string,
  { name, description, mimeType }: { name: string; description?: string | undefined; mimeType?: string | undefined },
): ListedResource {
  return { uri, name, description: description ?? null, mime_type: mimeType ?? null };
}
