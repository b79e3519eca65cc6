import type { HubAudience, HubDefinition, ToolDefinition } from './definition.ts';
import { checkName, duplicate, isHarnessHub } from './names.ts';
import { checkPresentation } from './presentation.ts';
import type { AnySchema, NoArgs } from './schema/schema-types.ts';
import { defineTool, type ToolConfig, type ToolHandler, type ToolObject } from './tool.ts';

/** The property of a `Hub` that holds its definition. */
export const HUB = Symbol.for('proctor.hub');

/** The hubs that always belong to the harness, so their audience need not be given. */
export type HarnessHubName = 'setup' | 'evaluate' | 'evaluation' | 'solution';

export interface HubOptions {
  /** `agent`: agents may call the functions too. `harness`: only a harness may. `user`: only simulated users may. */
  readonly audience: HubAudience;
  readonly description?: string;
}

/**
 * A group of functions under one name. On an environment it is ONE tool of that name, which takes `{ name, arguments }`
 * and calls the named function.
 *
 * @example
 * ```ts
 * env.mount(
 *   new Hub('answers', { audience: 'harness' }).tool(
 *     'look_up',
 *     { args: { page: z.int() } },
 *     ({ page }) => RIDDLES[page - 1]?.answer,
 *   ),
 * );
 * ```
 */
export class Hub {
  readonly #tools = new Map<string, ToolDefinition>();
  readonly #definition: HubDefinition;

  /** @throws TypeError for a bad name, a missing audience, or a harness hub with another audience. */
  constructor(name: HarnessHubName, options?: Partial<HubOptions>);
  constructor(name: string, options: HubOptions);
  constructor(name: string, options: Partial<HubOptions> = {}) {
    checkName('Hub', name);
    checkPresentation(`Hub "${name}"`, options, ['agent', 'harness', 'user']);
    const audience = audienceOf(name, options.audience);
    this.#definition = { name, audience, description: options.description, tools: this.#tools };
  }

  get [HUB](): HubDefinition {
    return this.#definition;
  }

  /** Adds a function. @throws Error if the hub already has the name; TypeError for a bad name or schema. */
  tool<
    const Args extends AnySchema = NoArgs,
    const Returns extends AnySchema | undefined = undefined,
    Returned = unknown,
  >(name: string, config: ToolConfig<Args, Returns>, handler: ToolHandler<Args, Returns, Returned>): this {
    const where = `Hub "${this.#definition.name}"`;
    const tool = defineTool(`${where}, function`, name, config, handler);
    if (this.#tools.has(name)) throw duplicate('function', name, where);
    this.#tools.set(name, tool);
    return this;
  }

  /** Adds a function given as one object. */
  addTool<
    const Args extends AnySchema = NoArgs,
    const Returns extends AnySchema | undefined = undefined,
    Returned = unknown,
  >(tool: ToolObject<Args, Returns, Returned>): this {
    return this.tool(tool.name, tool, tool.handler);
  }
}

function audienceOf(name: string, audience: HubAudience | undefined): HubAudience {
  if (isHarnessHub(name)) {
    if (audience === 'agent' || audience === 'user') {
      throw new TypeError(`Hub "${name}" is always the harness's: it cannot be the ${audience}'s`);
    }
    return 'harness';
  }
  if (audience === undefined) {
    throw new TypeError(
      `Hub "${name}" has to say who may call it: new Hub("${name}", { audience: "harness" }), or "agent" for tools of the agent`,
    );
  }
  return audience;
}
