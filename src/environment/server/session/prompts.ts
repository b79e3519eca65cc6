import { type GetPromptResult, type Prompt, ProtocolError } from '@modelcontextprotocol/server';
import { messageOf } from '../../../contract/errors.ts';
import { isJsonObject } from '../../../contract/json.ts';
import { enumCompleters, withChoices } from '../../authoring/completion.ts';
import type {
  Audience,
  Completer,
  EnvironmentDefinition,
  PromptDefinition,
  ScenarioDefinition,
} from '../../authoring/definition.ts';
import { parseOrThrow } from '../../authoring/schema/schema.ts';
import { readTextArguments } from '../../authoring/schema/text-arguments.ts';
import { isToolError } from '../../authoring/tool-result.ts';
import { orProtocolError } from './failures.ts';
import { toCheckedMessages, toMcpMessages } from './mcp-messages.ts';
import type { EnvironmentRequest } from './request.ts';
import type { ActiveScenario } from './scenarios/active-scenario.ts';
import { scenarioArguments } from './scenarios/scenario-list.ts';

type ScenarioArgument = ReturnType<typeof scenarioArguments>[number];
type TextArguments = Readonly<Record<string, string>>;

/** A prompt of a session: the author's own, or one that starts a scenario, so that editors offer it as a command. */
export interface SessionPrompt {
  readonly audience: Audience;
  readonly entry: Prompt;
  /** Completers by the name of the argument. */
  readonly completers?: ReadonlyMap<string, Completer>;
  get(args: TextArguments, request: EnvironmentRequest): Promise<GetPromptResult>;
}

export function sessionPrompts(definition: EnvironmentDefinition, active: ActiveScenario): Map<string, SessionPrompt> {
  const prompts = new Map<string, SessionPrompt>();
  for (const prompt of definition.prompts.values()) prompts.set(prompt.name, toSessionPrompt(prompt));
  for (const scenario of definition.scenarios.values()) prompts.set(scenario.name, toScenarioPrompt(scenario, active));
  return prompts;
}

export function listPrompts(prompts: ReadonlyMap<string, SessionPrompt>): Prompt[] {
  return [...prompts.values()].map(({ entry }) => entry);
}

function toSessionPrompt(prompt: PromptDefinition): SessionPrompt {
  const { name, title, description } = prompt;
  const entry: Prompt = {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    arguments: prompt.arguments.map((argument) => ({
      name: argument.name,
      required: argument.required,
      ...(argument.description === undefined ? {} : { description: argument.description }),
    })),
  };
  return {
    audience: prompt.audience,
    entry,
    completers: prompt.completers,
    async get(args, request) {
      const messages = await orProtocolError(`The prompt ${name}`, request, async () =>
        toCheckedMessages(await prompt.get(args, request.context)),
      );
      return { ...(description === undefined ? {} : { description }), messages };
    },
  };
}

function toScenarioPrompt(scenario: ScenarioDefinition, active: ActiveScenario): SessionPrompt {
  const { name, description = `Starts the scenario ${scenario.name}.` } = scenario;
  const argumentEntries = scenarioArguments(scenario).map((argument) => ({
    name: argument.name,
    required: argument.required,
    description: describeArgument(argument, propertyOf(scenario, argument.name)),
  }));
  return {
    audience: 'agent',
    completers: enumCompleters(scenario.args.jsonSchema),
    entry: { name, description, arguments: argumentEntries },
    async get(texts, request) {
      const what = `The setup of the scenario ${name}`;
      const args = await orProtocolError(what, request, async () => {
        const values = readTextArguments(scenario.args.jsonSchema, texts);
        return parseOrThrow(scenario.args, values, `Prompt "${name}"`);
      });
      const { system, prompt } = await orProtocolError(what, request, async () => {
        try {
          return await active.setup(scenario, args, request.context, 'prompt');
        } catch (error) {
          const isForClient = isToolError(error) || error instanceof ProtocolError;
          // A new Error hides the class. Otherwise the client would see wrong arguments of a function in the hub
          // `setup`.
          throw isForClient ? error : new Error(messageOf(error), { cause: error });
        }
      });
      const systemMessages = system === null ? [] : [{ role: 'system' as const, content: system }];
      return { description, messages: toMcpMessages([...systemMessages, ...prompt]) };
    },
  };
}

function describeArgument(argument: ScenarioArgument, schema: unknown): string {
  const text = [argument.description, `(${argument.type})`].filter((part) => part !== null).join(' ');
  return withChoices(text, schema) ?? text;
}

function propertyOf(scenario: ScenarioDefinition, name: string): unknown {
  const { properties } = scenario.args.jsonSchema;
  return isJsonObject(properties) ? properties[name] : undefined;
}
