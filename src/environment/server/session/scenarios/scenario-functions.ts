import { z } from 'zod';
import { textOfContent } from '../../../../contract/content-text.ts';
import { messageOf } from '../../../../contract/errors.ts';
import { isJsonObject } from '../../../../contract/json.ts';
import { META } from '../../../../contract/names.ts';
import type {
  CompiledSchema,
  EnvironmentDefinition,
  HubDefinition,
  ScenarioDefinition,
  SolutionToolResult,
  ToolContext,
} from '../../../authoring/definition.ts';
import { ToolError } from '../../../authoring/tool-result.ts';
import { placeOf } from '../../describe-thrown.ts';
import type { CallableTool } from '../call-tool.ts';
import type { SessionHub } from '../dispatcher.ts';
import type { ActiveScenario } from './active-scenario.ts';
import type { RunningSolution } from './running-solution.ts';
import { describeUser, nextFunction } from './user-functions.ts';

/** The state of the scenario functions in a session. */
export interface ScenarioState {
  readonly active: ActiveScenario;
  readonly solution: RunningSolution;
}

/**
 * The hubs of a session: the author's, and `setup`, `evaluate` and `solution` with a function for each scenario. Hubs
 * with the same name are merged. Collisions of their functions are checked when they are declared.
 */
export function sessionHubs(definition: EnvironmentDefinition, state: ScenarioState): ReadonlyMap<string, SessionHub> {
  const hubs = new Map([...definition.hubs.values()].map((hub) => [hub.name, toSessionHub(hub)]));
  for (const scenario of definition.scenarios.values()) {
    add(hubs, 'setup', setupFunction(scenario, state.active, definition));
    add(hubs, 'evaluate', evaluateFunction(scenario, state.active));
    if (scenario.solution !== undefined) add(hubs, 'solution', solutionFunction(scenario, state.solution));
  }
  const hasFunctionUser = [...definition.scenarios.values()].some(({ user }) => user?.next !== undefined);
  if (hasFunctionUser) add(hubs, 'user', nextFunction(state.active, reasonOf));
  return hubs;
}

interface GrowingHub extends SessionHub {
  readonly functions: Map<string, CallableTool>;
}

function toSessionHub(hub: HubDefinition): GrowingHub {
  // The harness calls its own functions and those of users. Agents see neither.
  const audience = hub.audience === 'agent' ? 'agent' : 'harness';
  return { name: hub.name, description: hub.description, audience, functions: new Map(hub.tools) };
}

function add(hubs: Map<string, GrowingHub>, name: string, tool: CallableTool): void {
  const hub = hubs.get(name) ?? { name, description: undefined, audience: 'harness', functions: new Map() };
  hub.functions.set(tool.name, tool);
  hubs.set(name, hub);
}

function setupFunction(
  scenario: ScenarioDefinition,
  active: ActiveScenario,
  definition: EnvironmentDefinition,
): CallableTool {
  return scenarioFunction(scenario, 'setup', `Sets up the scenario ${scenario.name} and answers its prompt.`, {
    input: scenario.args,
    handler: async (args, context) => {
      // Done before the scenario is active, so that an error in the user's instructions is a failure of setup.
      const user = describeUser(scenario, args, definition);
      if (context.meta[META.sandboxes] === true) return await active.prepare(scenario, args, context);
      const setup = await active.setup(scenario, args, context, 'harness');
      return user === undefined ? setup : { ...setup, user };
    },
  });
}

function evaluateFunction(scenario: ScenarioDefinition, active: ActiveScenario): CallableTool {
  const { name } = scenario;
  return scenarioFunction(scenario, 'evaluation', `Evaluates the answer to the scenario ${name} and closes it.`, {
    input: ANSWER_INPUT,
    handler: (args, context) => active.evaluate(name, (args as { answer?: unknown }).answer ?? null, context),
  });
}

function solutionFunction(scenario: ScenarioDefinition, solution: RunningSolution): CallableTool {
  return scenarioFunction(scenario, 'solution', `A known-good trajectory of the scenario ${scenario.name}.`, {
    input: scenario.args,
    handler: (args, context) => solution.next(scenario, args, readResults(context)),
  });
}

/** Only a harness can call these functions, so the error message may contain the cause. */
function scenarioFunction(
  { name }: ScenarioDefinition,
  part: 'setup' | 'evaluation' | 'solution',
  description: string,
  { input, handler }: Pick<CallableTool, 'input' | 'handler'>,
): CallableTool {
  return {
    name,
    title: undefined,
    description,
    annotations: undefined,
    input,
    output: undefined,
    handler,
    subject: `The ${part} of the scenario ${name}`,
    describeFailure: reasonOf,
  };
}

/** The error message and its place. The caller adds the name of the function. */
function reasonOf(thrown: unknown): string {
  const place = placeOf(thrown);
  const message = messageOf(thrown);
  return place === undefined ? message : `${message.replace(/\.$/, '')} at ${place}`;
}

/**
 * The schema of `{"answer": any}`, where a missing answer is null. The evaluation checks whether it fits the scenario.
 */
const ANSWER_INPUT: CompiledSchema = {
  jsonSchema: {
    type: 'object',
    properties: { answer: { description: 'The answer of the agent: text, or what the scenario asks for.' } },
    additionalProperties: false,
  },
  parse(value) {
    if (!isJsonObject(value)) return { ok: false, issues: [{ path: '', message: 'must be an object' }] };
    const unknown = Object.keys(value).filter((key) => key !== 'answer');
    if (unknown.length === 0) return { ok: true, value };
    return { ok: false, issues: unknown.map((path) => ({ path, message: 'is not an argument that exists' })) };
  },
};

const resultsSchema = z.array(
  z.object({
    content: z.array(z.looseObject({ type: z.string() })),
    structured_content: z.unknown().transform((value) => (isJsonObject(value) ? value : null)),
    is_error: z.boolean(),
  }),
);

function readResults(context: ToolContext): readonly SolutionToolResult[] {
  const results = resultsSchema.safeParse(context.meta[META.solutionResults] ?? []);
  if (results.success) return results.data.map((result) => ({ ...result, text: textOfContent(result.content) }));
  throw new ToolError(
    `_meta["${META.solutionResults}"] has to be a list of tool results: ${z.prettifyError(results.error)}`,
  );
}
