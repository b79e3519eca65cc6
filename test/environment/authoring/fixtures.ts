import type { EnvironmentDefinition, ToolContext } from '../../../src/environment/authoring/definition.ts';
import type { EnvironmentServer } from '../../../src/environment/authoring/environment-server.ts';
import { environmentDefinition } from '../../../src/environment/authoring/environment-source.ts';

/** The context of a request of a client that takes neither progress nor logs. */
export function contextOf(signal: AbortSignal = new AbortController().signal): ToolContext {
  const ignore = () => {};
  const refuse = () => Promise.reject(new Error('The client of this test cannot do that'));
  return {
    signal,
    progress: ignore,
    log: Object.assign(ignore, { debug: ignore, info: ignore, warning: ignore, error: ignore }),
    session: { id: 'session-1', protocol: '2025-11-25', client: undefined },
    seed: 0,
    meta: {},
    capabilities: { elicitation: true, sampling: true, roots: true },
    roots: refuse,
    elicit: refuse,
    sample: refuse,
    judge: refuse,
    conversation: [],
  };
}

export const definitionOf = (environment: EnvironmentServer): EnvironmentDefinition =>
  environmentDefinition(environment);

/** Calls a tool as the server does: the schema reads the arguments, the handler gets what it made of them. */
export async function callTool(environment: EnvironmentServer, name: string, args?: unknown): Promise<unknown> {
  const tool = definitionOf(environment).tools.get(name);
  if (tool === undefined) throw new Error(`There is no tool ${name}`);
  const parsed = await tool.input.parse(args);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return tool.handler(parsed.value, contextOf());
}

/** Starts a scenario as the server does. */
export async function startScenario(
  environment: EnvironmentServer,
  name: string,
  args: unknown = {},
  context: ToolContext = contextOf(),
) {
  const scenario = definitionOf(environment).scenarios.get(name);
  if (scenario === undefined) throw new Error(`There is no scenario ${name}`);
  const parsed = await scenario.args.parse(args);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return scenario.start(parsed.value, context);
}
