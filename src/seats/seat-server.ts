import type { AgentResource } from '../client/agent-resources.ts';
import type { AgentToolEntry, ToolResult } from '../client/environment-client.ts';
import type { ContentBlock } from '../contract/chat.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { SetupResult } from '../contract/scenario.ts';
import { SUBMIT_ANSWER } from '../contract/seat.ts';
import type {
  EnvironmentDefinition,
  PromptDefinition,
  ResourceDefinition,
  ToolContext,
  ToolDefinition,
} from '../environment/definition.ts';
import { EnvironmentServer } from '../environment/environment-server.ts';
import { ENVIRONMENT } from '../environment/environment-source.ts';
import { asFinished } from '../environment/tool-result.ts';
import { createAnswerTool } from './answer-tool.ts';
import { structureFor } from './needed-structure.ts';

export interface SeatServerParts {
  /** Name and version of the environment. */
  readonly name: string;
  readonly version: string;
  readonly setup: SetupResult;
  /** Tools that the scenario allows. */
  readonly tools: readonly AgentToolEntry[];
  readonly resources: readonly AgentResource[];
  /** Whether the agent may end the run by `submit_answer`. */
  readonly hasAnswerTool: boolean;
  call(name: string, args: JsonObject, signal: AbortSignal): Promise<ToolResult>;
  read(uri: string, signal: AbortSignal): Promise<unknown>;
  /** @returns false where the run is over already. */
  submit(answer: Json): boolean;
  /** Told each time that the tools are listed. */
  onListed(): void;
}

/**
 * A seat as an MCP server: the tools that its scenario allows and `submit_answer`, the prompt `task`, and the resources of
 * the environment. Every MCP session gets one of these, and all of a seat lead to one session of the environment.
 */
export class SeatServer extends EnvironmentServer {
  readonly #parts: SeatServerParts;

  constructor(parts: SeatServerParts) {
    super({
      name: parts.name,
      ...(parts.version === '' ? {} : { version: parts.version }),
      instructions: `The task is the prompt "task".${parts.hasAnswerTool ? ` Call ${SUBMIT_ANSWER} with your final answer, once, when you are done.` : ''}`,
    });
    this.#parts = parts;
  }

  /** Nothing of it is registered: the tools and resources are those of another server, under their own names. */
  override get [ENVIRONMENT](): EnvironmentDefinition {
    const { tools, resources, setup, hasAnswerTool, onListed } = this.#parts;
    const submit = createAnswerTool(setup.answer_schema, (answer) => this.#parts.submit(answer));
    const all = [...tools.map((tool) => this.#toTool(tool)), ...(hasAnswerTool ? [submit] : [])];
    const task = toTaskPrompt(setup);
    return {
      ...super[ENVIRONMENT],
      tools: new Map(all.map((tool) => [tool.name, tool])),
      resources: new Map(resources.map((resource) => [resource.uri, this.#toResource(resource)])),
      prompts: new Map([[task.name, task]]),
      onToolsListed: onListed,
    };
  }

  /**
   * The environment checks the arguments itself, so that a fault in them is told, and recorded, as in any run. Schemas of
   * results stay there: a client that knows one fails at a result that was too large, and has lost its structure.
   */
  #toTool({ name, title, description, input_schema, annotations }: AgentToolEntry): ToolDefinition {
    const unchecked = (value: unknown) => ({ ok: true as const, value: value ?? {} });
    return {
      name,
      title: title ?? undefined,
      description,
      annotations: annotations as ToolDefinition['annotations'], // A hint that is undefined is as absent.
      input: { jsonSchema: input_schema, parse: unchecked },
      output: undefined,
      handler: async (args, { signal, session }: ToolContext) => {
        const result = await this.#parts.call(name, args as JsonObject, signal); // MCP has checked that it is one.
        const structuredContent = structureFor(session.client?.name, result);
        return asFinished({
          content: result.content,
          ...(structuredContent === undefined ? {} : { structuredContent }),
          ...(result.is_error ? { isError: true } : {}),
        });
      },
    };
  }

  #toResource(resource: AgentResource): ResourceDefinition {
    return {
      ...resource,
      audience: 'agent',
      read: (variables, { signal }) => {
        const uri = resource.uri.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(variables[name] ?? ''));
        return this.#parts.read(uri, signal);
      },
    };
  }
}

function toTaskPrompt({ system, prompt }: SetupResult): PromptDefinition {
  const messages = prompt.map(({ role, content }) => ({
    role,
    content: typeof content === 'string' ? content : ([...content] as ContentBlock[]),
  }));
  return {
    name: 'task',
    title: 'The task',
    description: 'The task, as its scenario gives it.',
    audience: 'agent',
    arguments: [],
    completers: new Map(),
    get: () => (system === null ? messages : [{ role: 'system' as const, content: system }, ...messages]),
  };
}
