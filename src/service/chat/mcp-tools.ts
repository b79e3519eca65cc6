import type { JsonObject } from '../../contract/json.ts';
import type { LifecycleToolName } from '../../contract/lifecycle.ts';
import { SCENARIOS_URI } from '../../contract/names.ts';
import type {
  EnvironmentDefinition,
  ResourceDefinition,
  ToolContext,
  ToolDefinition,
} from '../../environment/authoring/definition.ts';
import { EnvironmentServer } from '../../environment/authoring/environment-server.ts';
import { ENVIRONMENT } from '../../environment/authoring/environment-source.ts';
import { ToolError } from '../../environment/authoring/tool-result.ts';
import { createRequestId } from '../../support/http/listen.ts';
import { PROCTOR_VERSION } from '../../support/runtime/version.ts';
import type { LifecycleTools } from './lifecycle-tools.ts';
import type { Scenarios } from './scenarios.ts';

export interface McpToolsOptions {
  /** Account of the sessions that the tools drive. */
  readonly account: string;
  /** Milliseconds between two progress reports while nothing happens. Default 4,000. */
  readonly progressEveryMs?: number | undefined;
}

type CallOptions = Required<{ [Name in keyof McpToolsOptions]: NonNullable<McpToolsOptions[Name]> }>;

/** The contract requires a progress report at least every 5 s. */
export const PROGRESS_EVERY_MS = 4_000;

/** The lifecycle tools as an MCP server. Each step reports progress, and cancelling a call aborts its turn. */
export function createMcpTools(
  tools: LifecycleTools,
  scenarios: Scenarios,
  { account, progressEveryMs = PROGRESS_EVERY_MS }: McpToolsOptions,
): () => EnvironmentServer {
  return () => new LifecycleServer(tools, scenarios, { account, progressEveryMs });
}

class LifecycleServer extends EnvironmentServer {
  readonly #scenarios: Scenarios;

  constructor(tools: LifecycleTools, scenarios: Scenarios, options: CallOptions) {
    super({
      name: 'proctor-scenarios',
      version: PROCTOR_VERSION,
      instructions:
        'scenario_list says what there is. scenario_start begins a session, scenario_send continues it, scenario_finish grades it.',
    });
    this.#scenarios = scenarios;
    for (const { name, description, inputSchema } of tools.list()) {
      if (!tools.has(name)) continue;
      this.tool(name, { description, args: { ...inputSchema, type: 'object' } }, (args, context) =>
        callTool(tools, name, args, context, options),
      );
    }
  }

  /** Skips the SDK's check of arguments: the tools check them and report errors as over HTTP. */
  override get [ENVIRONMENT](): EnvironmentDefinition {
    const definition = super[ENVIRONMENT];
    const scenarios = toScenariosResource(this.#scenarios);
    return {
      ...definition,
      tools: new Map([...definition.tools].map(([name, tool]) => [name, withUncheckedArgs(tool)])),
      resources: new Map([[scenarios.uri, scenarios]]),
    };
  }
}

function withUncheckedArgs(tool: ToolDefinition): ToolDefinition {
  const { jsonSchema } = tool.input;
  return { ...tool, input: { jsonSchema, parse: (value = {}) => ({ ok: true, value }) } };
}

/** The resource `svc://scenarios`, which lists the scenarios of all environments. */
function toScenariosResource(scenarios: Scenarios): ResourceDefinition {
  return {
    uri: SCENARIOS_URI,
    isTemplate: false,
    name: 'scenarios',
    title: undefined,
    description: 'The scenarios that can be started, and their arguments.',
    mimeType: 'application/json',
    audience: 'agent',
    read: async () => ({ scenarios: await scenarios.list() }),
  };
}

/** Progress message of each tool before the first event. */
const BEGINNINGS: Readonly<Record<LifecycleToolName, string>> = {
  scenario_list: 'The scenarios are being listed',
  scenario_start: 'The scenario is being set up',
  scenario_send: 'The turn begins',
  scenario_finish: 'The answer is being evaluated',
};

async function callTool(
  tools: LifecycleTools,
  name: LifecycleToolName,
  args: JsonObject,
  { signal, progress }: ToolContext,
  { account, progressEveryMs }: CallOptions,
): Promise<JsonObject> {
  let reports = 0;
  let message = BEGINNINGS[name];
  // MCP requires an increasing number, and the total is unknown.
  const tell = () => progress(++reports, null, message);
  const timer = setInterval(tell, progressEveryMs);
  try {
    const result = await tools.call(name, args, {
      account,
      requestId: createRequestId(),
      signal,
      onEvent(event) {
        if (event.type === 'model.requested') message = `Step ${event.step}: the model answers`;
        else if (event.type === 'tool.called') message = `Step ${event.step}: ${event.name}`;
        else return;
        tell();
      },
    });
    if (!result.isError) return result.structuredContent;
    const { structuredContent } = result;
    throw new ToolError(result.content[0]?.text, { structuredContent });
  } catch (thrown) {
    // A cancelled call gets no reply and is not logged as a failure.
    if (signal.aborted) throw new ToolError('The call was cancelled', { cause: thrown });
    throw thrown;
  } finally {
    clearInterval(timer);
  }
}
