import type { GetPromptResult, Prompt } from '@modelcontextprotocol/server';
import { enumCompleters } from '../../environment/completion.ts';
import type {
  Audience,
  Completer,
  EnvironmentDefinition,
  PromptDefinition,
  ScenarioDefinition,
} from '../../environment/definition.ts';
import { parseOrThrow } from '../../environment/schema.ts';
import { readTextArguments } from '../../environment/text-arguments.ts';
import { isVisible } from '../audience.ts';
import type { ActiveScenario } from './active-scenario.ts';
import { orProtocolError } from './failures.ts';
import { toMcpMessages } from './mcp-messages.ts';
import type { EnvironmentRequest } from './request.ts';
import { scenarioArguments } from './scenario-list.ts';

type TextArguments = Readonly<Record<string, string>>;

/** A prompt of a session: the author's own, or one that starts a scenario, so that an IDE offers it as a command. */
export interface SessionPrompt {
  readonly audience: Audience;
  readonly entry: Prompt;
  /** By argument. */
  readonly completers?: ReadonlyMap<string, Completer>;
  get(args: TextArguments, request: EnvironmentRequest): Promise<GetPromptResult>;
}

export function sessionPrompts(definition: EnvironmentDefinition, active: ActiveScenario): Map<string, SessionPrompt> {
  const prompts = new Map<string, SessionPrompt>();
  for (const prompt of definition.prompts.values()) prompts.set(prompt.name, toSessionPrompt(prompt));
  for (const scenario of definition.scenarios.values()) prompts.set(scenario.name, toScenarioPrompt(scenario, active));
  return prompts;
}

export function listPrompts(prompts: ReadonlyMap<string, SessionPrompt>, audience: Audience): Prompt[] {
  return [...prompts.values()].filter((prompt) => isVisible(prompt, audience)).map(({ entry }) => entry);
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
      const messages = await orProtocolError(`The prompt ${name}`, request, () => prompt.get(args, request.context));
      return { ...(description === undefined ? {} : { description }), messages: toMcpMessages(messages) };
    },
  };
}

function toScenarioPrompt(scenario: ScenarioDefinition, active: ActiveScenario): SessionPrompt {
  const { name, description = `Starts the scenario ${scenario.name}.` } = scenario;
  const argumentEntries = scenarioArguments(scenario).map((argument) => ({
    name: argument.name,
    required: argument.required,
    description: [argument.description, `(${argument.type})`].filter((part) => part !== null).join(' '),
  }));
  return {
    audience: 'agent',
    completers: enumCompleters(scenario.args.jsonSchema),
    entry: { name, description, arguments: argumentEntries },
    async get(texts, request) {
      const { system, prompt } = await orProtocolError(`The setup of the scenario ${name}`, request, async () => {
        const values = readTextArguments(scenario.args.jsonSchema, texts);
        const args = await parseOrThrow(scenario.args, values, `Prompt "${name}"`);
        return active.setup(scenario, args, request.context, 'prompt');
      });
      const systemMessages = system === null ? [] : [{ role: 'system' as const, content: system }];
      return { description, messages: toMcpMessages([...systemMessages, ...prompt]) };
    },
  };
}
