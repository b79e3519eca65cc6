import type { JsonObject } from '../contract/json.ts';
import { LIFECYCLE_TOOLS, type LifecycleToolName } from '../contract/lifecycle.ts';
import { PROCTOR_VERSION } from '../contract/version.ts';
import type { ToolContext } from '../environment/definition.ts';
import { EnvironmentServer } from '../environment/environment-server.ts';
import { ToolError } from '../environment/tool-result.ts';
import { createRequestId } from '../http/request-id.ts';
import type { LifecycleTools } from './lifecycle-tools.ts';

/** Milliseconds between two reports of progress while nothing happens. */
const PROGRESS_EVERY_MS = 4_000;

/** The lifecycle tools as an MCP server, for every MCP client: progress at each step, and cancelling aborts the turn. */
export function createMcpTools(tools: LifecycleTools): () => EnvironmentServer {
  return () => {
    const server = new EnvironmentServer({
      name: 'proctor-scenarios',
      version: PROCTOR_VERSION,
      instructions:
        'scenario_list says what there is. scenario_start begins a session, scenario_send continues it, scenario_finish grades it.',
    });
    for (const [name, { description, args }] of Object.entries(LIFECYCLE_TOOLS)) {
      const call = (given: unknown, context: ToolContext) =>
        callTool(tools, name as LifecycleToolName, given as JsonObject, context);
      server.tool(name, { description, args }, call);
    }
    return server;
  };
}

async function callTool(
  tools: LifecycleTools,
  name: LifecycleToolName,
  args: JsonObject,
  { signal, progress }: ToolContext,
): Promise<JsonObject> {
  let steps = 0;
  let message = 'The scenario is being set up';
  const tell = () => progress(steps, undefined, message);
  const timer = setInterval(tell, PROGRESS_EVERY_MS);
  try {
    const result = await tools.call(name, args, {
      requestId: createRequestId(),
      signal,
      onEvent(event) {
        if (event.type === 'model.requested') message = `Step ${event.step}: the model answers`;
        else if (event.type === 'tool.called') message = `Step ${event.step}: ${event.name}`;
        else return;
        steps = event.step;
        tell();
      },
    });
    if (!result.isError) return result.structuredContent;
    const { structuredContent } = result;
    throw new ToolError(result.content[0]?.text, { structuredContent });
  } finally {
    clearInterval(timer);
  }
}
