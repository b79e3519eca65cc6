import type { JsonSchema } from '../../contract/json.ts';
import { checkCompleters, enumCompleters, withChoices } from './completion.ts';
import type {
  Audience,
  Awaitable,
  Completer,
  PromptArgument,
  PromptDefinition,
  RichPromptMessage,
  ToolContext,
} from './definition.ts';
import { checkName } from './names.ts';
import { checkPresentation } from './presentation.ts';
import { compileSchema, parseOrThrow } from './schema/schema.ts';
import type { AnySchema, ArgsInput, ArgsOf, NoArgs } from './schema/schema-types.ts';
import { readTextArguments } from './schema/text-arguments.ts';
import { NO_ARGS } from './tool.ts';

/** Options of an MCP prompt. Its arguments are sent as text, and `args` reads them. */
export interface PromptConfig<Args extends AnySchema = NoArgs> {
  readonly title?: string;
  readonly description?: string;
  readonly args?: Args;
  /** The audience: `agent` (default), or `harness` to hide it from agents. */
  readonly audience?: Audience;
  /**
   * Suggests values of arguments: `{ colour: ["red", "green"] }` or `{ colour: (typed) => [...] }`. Arguments whose
   * schema lists the possible values do not need it.
   */
  readonly complete?: { readonly [Name in keyof ArgsInput<Args>]?: Completer };
}

/** A text, sent as a message of the user, or messages with any kind of content. */
export type RichPrompt = string | readonly RichPromptMessage[];

export type PromptHandler<Args extends AnySchema> = (args: ArgsOf<Args>, context: ToolContext) => Awaitable<RichPrompt>;

/**
 * Compiles an MCP prompt. Its `get` rejects with `InvalidArgumentsError` for arguments that do not fit.
 *
 * @throws TypeError for a bad name, schema or handler.
 */
export function definePrompt<Args extends AnySchema>(
  name: string,
  config: PromptConfig<Args>,
  handler: PromptHandler<Args>,
): PromptDefinition {
  checkName('Prompt', name);
  if (typeof handler !== 'function') {
    throw new TypeError(`Prompt "${name}": the handler has to be a function, got ${typeof handler}`);
  }
  checkPresentation(`Prompt "${name}"`, config);
  const args = compileSchema(config.args ?? NO_ARGS, `Prompt "${name}", args`);
  const promptArguments = toPromptArguments(args.jsonSchema);
  const names = promptArguments.map((argument) => argument.name);
  return {
    name,
    title: config.title,
    description: config.description,
    audience: config.audience ?? 'agent',
    arguments: promptArguments,
    completers: new Map([
      ...enumCompleters(args.jsonSchema),
      ...checkCompleters(`Prompt "${name}"`, config.complete, names),
    ]),
    async get(text, context): Promise<RichPrompt> {
      const values = readTextArguments(args.jsonSchema, text);
      return handler((await parseOrThrow(args, values, `Prompt "${name}"`)) as ArgsOf<Args>, context);
    },
  };
}

/** Converts the properties of a schema into the argument list of an MCP prompt. */
function toPromptArguments(schema: JsonSchema): readonly PromptArgument[] {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  return Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).map(([name, property]) => ({
    name,
    description: withChoices(typeof property.description === 'string' ? property.description : undefined, property),
    required: required.has(name),
  }));
}
