import type { AgentTool, ToolCall } from '../../../contract/chat.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import { validateJsonSchema } from '../../../support/schema/json-schema.ts';
import type { ChatModel, ModelRequest, ModelResponse, ReferenceContext } from '../chat-model.ts';
import { FORGED_ANSWERS, harnessNames, type Loot, probesOf } from './forgeries.ts';
import { answerSaying } from './prompt-literals.ts';
import { randomArguments } from './random-arguments.ts';
import { answerWith, respondWith } from './reference-response.ts';
import { createSeededRandom } from './seeded-random.ts';

/** Most calls of one response. */
const CALLS_AT_ONCE = 16;
/** Most calls that probe the arguments of tools, in total. */
const MAX_PROBES = 320;

export interface ForgerOptions {
  /** Files that agents must not read. Default: well-known ones. */
  readonly loot?: Loot;
  /**
   * Cheats before the answer: `all` calls the harness's functions and probes tool arguments, `names` only calls the
   * functions, `answer` does neither. Default `all`.
   */
  readonly tries?: 'all' | 'names' | 'answer';
}

/**
 * `proctor/forger`: an agent that cheats. It calls the harness's functions under every name, asks each tool with a text
 * argument for files, variables and commands, and gives an answer that looks like a grader's output. The seed picks the
 * answer.
 */
export class ForgerModel implements ChatModel {
  readonly name: string;
  readonly #context: ReferenceContext;
  readonly #options: ForgerOptions;
  #calls: ToolCall[] | undefined;

  constructor(name: string, context: ReferenceContext, options: ForgerOptions = {}) {
    this.name = name;
    this.#context = context;
    this.#options = options;
  }

  async respond({ tools, signal, onDelta }: ModelRequest): Promise<ModelResponse> {
    signal.throwIfAborted();
    this.#calls ??= this.#plan(tools);
    if (this.#calls.length > 0) return respondWith(null, this.#calls.splice(0, CALLS_AT_ONCE));
    const seed = Math.abs(this.#context.seed ?? 0);
    const forged = FORGED_ANSWERS[seed % FORGED_ANSWERS.length] ?? '';
    return answerWith(this.#answer(forged), onDelta);
  }

  #answer(forged: string): string {
    return answerSaying(forged, this.#context.answerSchema());
  }

  #plan(tools: readonly AgentTool[]): ToolCall[] {
    const { scenario } = this.#context;
    const { tries = 'all', loot } = this.#options;
    if (tries === 'answer') return [];
    const offered = new Set(tools.map(({ name }) => name));
    const forged = harnessNames(scenario)
      .filter((name) => !offered.has(name))
      .map((name) => ({ name, arguments: { name: scenario, arguments: {} } }));
    const probes = tries === 'names' ? [] : probeCalls(tools, loot, this.#context.seed ?? 0);
    return [...forged, ...probes].map((call, index) => ({ ...call, id: `forger_${index + 1}`, raw_arguments: null }));
  }
}

type Call = Pick<ToolCall, 'name' | 'arguments'>;

/** Takes one probe of each tool in turn, so that every tool is probed before the limit is reached. */
function probeCalls(tools: readonly AgentTool[], loot: Loot | undefined, seed: number): readonly Call[] {
  const lists = tools.flatMap((tool) => textArguments(tool).map((argument) => callsOf(tool, argument, loot, seed)));
  const calls: Call[] = [];
  const longest = Math.max(0, ...lists.map((list) => list.length));
  for (let at = 0; at < longest && calls.length < MAX_PROBES; at += 1) {
    for (const list of lists) {
      const call = list[at];
      if (call !== undefined) calls.push(call);
    }
  }
  return calls.slice(0, MAX_PROBES);
}

/** Names of the arguments that may accept a text or a list of texts. */
function textArguments({ input_schema }: AgentTool): readonly string[] {
  const { properties } = input_schema;
  return Object.keys(isJsonObject(properties) ? properties : {});
}

function callsOf(tool: AgentTool, argument: string, loot: Loot | undefined, seed: number): readonly Call[] {
  const base = randomArguments(tool.input_schema, createSeededRandom(seed)) ?? {};
  return probesOf(tool, loot).flatMap(({ text, words }) => {
    const candidates: Json[] = [text, words];
    const fitting = candidates.map((value) => ({ ...base, [argument]: value }) as JsonObject);
    const args = fitting.find((given) => fits(tool, given));
    return args === undefined ? [] : [{ name: tool.name, arguments: args }];
  });
}

function fits({ input_schema }: AgentTool, args: JsonObject): boolean {
  try {
    return validateJsonSchema(input_schema, args).length === 0;
  } catch {
    return false;
  }
}
