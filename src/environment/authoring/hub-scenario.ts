import { isJsonObject, type Json, type JsonObject } from '../../contract/json.ts';
import { preview } from '../../support/schema/json-schema.ts';
import type {
  CompiledSchema,
  EnvironmentDefinition,
  HubDefinition,
  ScenarioRun,
  ToolContext,
  ToolDefinition,
} from './definition.ts';
import { toEvaluation } from './evaluation.ts';
import { duplicate } from './names.ts';
import { type Prompt, toPromptMessages } from './prompt-messages.ts';
import { parseOrThrow } from './schema/schema.ts';

/** A call of a function in the hub `setup` or `evaluate`. */
export interface HubCall {
  readonly name: string;
  /** Arguments as JSON, which may contain placeholders. */
  readonly arguments?: Readonly<Record<string, unknown>>;
}

/**
 * A scenario made of hub functions only. `{{arg}}` in the prompt and in the arguments is replaced by the scenario's
 * argument, `{{answer}}` in the arguments of `evaluate` by the answer. A value that consists of one placeholder keeps
 * its JSON type, and is left out if the argument is missing.
 */
export interface HubHalves {
  readonly prompt: Prompt;
  readonly setup: HubCall;
  /** The call whose return value is the evaluation. */
  readonly evaluate: HubCall;
}

type Hubs = ReadonlyMap<string, HubDefinition>;

/** @throws TypeError if a part is missing. */
export function halvesOf(label: string, { prompt, setup, evaluate }: Partial<HubHalves>): HubHalves {
  if (prompt === undefined || setup === undefined || evaluate === undefined) {
    throw new TypeError(
      `${label} needs an async generator function as its third argument, or prompt, setup and evaluate in its configuration`,
    );
  }
  return { prompt, setup, evaluate };
}

/**
 * Starts a scenario made of hub functions. The functions are looked up now, so hubs may be mounted after the scenario.
 */
export function runHubHalves(
  label: string,
  halves: HubHalves,
  hubs: Hubs,
  args: unknown,
  context: ToolContext,
): ScenarioRun {
  const values = isJsonObject(args) ? args : {};
  const call = async (hub: string, { name, arguments: template = {} }: HubCall, known: JsonObject) => {
    const tool = hubFunction(label, hubs, hub, name);
    const parsed = await parseOrThrow(
      tool.input,
      fill(template as JsonObject, known),
      `${label}: ${hub} function "${name}"`,
    );
    const { handler } = tool;
    return handler(parsed, context);
  };
  return {
    async prompt() {
      await call('setup', halves.setup, values);
      return toPromptMessages(fill(halves.prompt as Json, values), label);
    },
    async evaluate(answer) {
      return toEvaluation(await call('evaluate', halves.evaluate, { answer: answer as Json, ...values }));
    },
    async close() {},
  };
}

/**
 * Checks that each placeholder is an argument of the scenario.
 *
 * @throws TypeError that names the placeholder and the arguments; also if an argument is named `answer`, which
 *   `{{answer}}` could mean too.
 */
export function checkPlaceholders(label: string, halves: HubHalves, args: CompiledSchema): void {
  const known = Object.keys(args.jsonSchema.properties ?? {});
  if (known.includes('answer') && placeholdersOf(halves.evaluate.arguments).some(([, name]) => name === 'answer')) {
    throw new TypeError(
      `${label}: {{answer}} in evaluate is the agent's answer, and "answer" an argument too: rename the argument`,
    );
  }
  if (args.jsonSchema.additionalProperties !== false) return;
  const check = (part: string, template: unknown, names: readonly string[]) => {
    for (const [placeholder, name = ''] of placeholdersOf(template)) {
      if (names.includes(name)) continue;
      throw new TypeError(`${label}: ${placeholder} in ${part} is not one of its arguments: ${preview(names)}`);
    }
  };
  check('prompt', halves.prompt, known);
  check('setup', halves.setup.arguments, known);
  check('evaluate', halves.evaluate.arguments, [...known, 'answer']);
}

/** Checks that the functions exist. @throws Error that lists the functions of the hub. */
function checkHubCalls(label: string, halves: HubHalves, hubs: Hubs): void {
  hubFunction(label, hubs, 'setup', halves.setup.name);
  hubFunction(label, hubs, 'evaluate', halves.evaluate.name);
}

function placeholdersOf(template: unknown): readonly RegExpExecArray[] {
  return [...JSON.stringify(template ?? null).matchAll(PLACEHOLDER)];
}

const PLACEHOLDER = /\{\{\s*([^{}\s]+)\s*\}\}/g;
const ONE_PLACEHOLDER = /^\{\{\s*([^{}\s]+)\s*\}\}$/;

function hubFunction(label: string, hubs: Hubs, hub: string, name: string): ToolDefinition {
  const tools = hubs.get(hub)?.tools;
  if (tools === undefined) throw new Error(`${label} needs the hub "${hub}", which is not mounted`);
  const tool = tools.get(name);
  if (tool !== undefined) return tool;
  throw new Error(`${label}: the hub "${hub}" has no function "${name}"; it has ${preview([...tools.keys()])}`);
}

function fill(template: Json, values: JsonObject): Json | undefined {
  if (typeof template === 'string') return fillText(template, values);
  if (Array.isArray(template)) return template.map((member) => fill(member, values) ?? null);
  if (!isJsonObject(template)) return template;
  const filled: JsonObject = {};
  for (const [key, member] of Object.entries(template)) {
    const value = fill(member, values);
    if (value !== undefined) filled[key] = value;
  }
  return filled;
}

function fillText(template: string, values: JsonObject): Json | undefined {
  const one = ONE_PLACEHOLDER.exec(template)?.[1];
  if (one !== undefined) return lookUp(values, one);
  return template.replace(PLACEHOLDER, (_, name: string) => {
    const value = lookUp(values, name) ?? '';
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}

function lookUp(values: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

/** Checks declarations of hubs and scenarios against each other. @throws Error that names the conflict. */
export function checkDeclarations(
  definition: EnvironmentDefinition,
  hubScenarios: ReadonlyMap<string, HubHalves>,
  label: string,
): void {
  checkFunctionNames(definition.hubs.values(), definition.scenarios.keys(), label);
  checkUserHub(definition, label);
  for (const [name, halves] of hubScenarios) checkHubCalls(`Scenario "${name}"`, halves, definition.hubs);
}

/** The hubs that contain one function for each scenario. */
const SCENARIO_HUBS: ReadonlySet<string> = new Set(['setup', 'evaluate', 'solution']);

/**
 * Each scenario needs its own name as a function name in these hubs. @throws Error if a hub already has such a
 * function.
 */
export function checkFunctionNames(hubs: Iterable<HubDefinition>, scenarios: Iterable<string>, label: string): void {
  const names = [...scenarios];
  for (const hub of hubs) {
    const taken = SCENARIO_HUBS.has(hub.name) ? names.find((name) => hub.tools.has(name)) : undefined;
    if (taken !== undefined) throw duplicate(`scenario and a function of the hub ${hub.name}`, taken, label);
  }
}

/**
 * Checks that the name `next` of the hub `user` is free. If a user is a function, the harness gets its messages there.
 */
function checkUserHub(
  { scenarios, tools, hubs }: Pick<EnvironmentDefinition, 'scenarios' | 'tools' | 'hubs'>,
  label: string,
): void {
  if (![...scenarios.values()].some(({ user }) => user?.next !== undefined)) return;
  if (tools.has('user')) throw duplicate('tool', 'user', label);
  const hub = hubs.get('user');
  if (hub?.audience === 'agent' || hub?.tools.has('next')) throw duplicate('hub', 'user', label);
}
