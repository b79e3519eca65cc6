import type { ContentBlock } from '../../contract/chat.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { SetupResult } from '../../contract/scenario.ts';
import { SUBMIT_ANSWER } from '../../contract/service/seat.ts';
import type {
  EnvironmentDefinition,
  PromptDefinition,
  ResourceDefinition,
  ToolContext,
  ToolDefinition,
} from '../../environment/authoring/definition.ts';
import { EnvironmentServer } from '../../environment/authoring/environment-server.ts';
import { ENVIRONMENT } from '../../environment/authoring/environment-source.ts';
import { asFinished } from '../../environment/authoring/tool-result.ts';
import type { AgentResource } from '../../environment/client/agent-resources.ts';
import type { AgentToolEntry, ToolResult } from '../../environment/client/environment-client.ts';
import { createAnswerTool } from './answer-tool.ts';
import { structureFor } from './model-endpoint/output-schema-quirk.ts';

export interface SeatServerParts {
  /** Name and version of the environment. */
  readonly name: string;
  readonly version: string;
  readonly setup: SetupResult;
  /** Tools that the scenario allows. */
  readonly tools: readonly AgentToolEntry[];
  readonly resources: readonly AgentResource[];
  /** True if the agent may end the run with `submit_answer`. */
  readonly hasAnswerTool: boolean;
  call(name: string, args: JsonObject, signal: AbortSignal): Promise<ToolResult>;
  read(uri: string, signal: AbortSignal): Promise<unknown>;
  /** Submits the answer. @returns false if the run is over already. */
  submit(answer: Json): boolean;
  /** Called each time a client lists the tools. */
  onListed(): void;
}

/**
 * A seat as an MCP server: the tools that its scenario allows, `submit_answer`, the prompt `task`, and the
 * environment's resources. Each MCP session gets its own instance; all instances of a seat use one session of the
 * environment.
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

  /** Returns the environment's tools and resources under their own names, because this server registers none itself. */
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
   * Passes arguments on unchecked, so that the environment reports and records faults as in any run. Leaves the result
   * schema out: a client with the schema would fail on a result that was cut to its text.
   */
  #toTool({ name, title, description, input_schema, annotations }: AgentToolEntry): ToolDefinition {
    const unchecked = (value: unknown) => ({ ok: true as const, value: value ?? {} });
    return {
      name,
      title: title ?? undefined,
      description,
      annotations: annotations as ToolDefinition['annotations'], // An undefined hint counts as absent.
      input: { jsonSchema: input_schema, parse: unchecked },
      output: undefined,
      handler: async (args, { signal, session }: ToolContext) => {
        const result = await this.#parts.call(name, args as JsonObject, signal); // MCP has checked the type.
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
