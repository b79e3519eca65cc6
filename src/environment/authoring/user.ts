import type { Awaitable, ToolContext, UserDefinition, UserMessage } from './definition.ts';
import { checkName } from './names.ts';

/** Number of replies that a simulated user gives in one conversation. */
const MAX_USER_TURNS = { default: 30, maximum: 500 } as const;

/** A simulated user that a model plays. Only the harness sees its instructions; agents cannot read them. */
export interface SimulatedUser<Args = unknown> {
  /** The person, the wish, and the facts that the user tells only if asked. */
  readonly instructions: string | ((args: Args) => string);
  /** The model that plays the user. Default: `models.user` of the configuration. */
  readonly model?: string;
  /** Names of functions that the user may call, in hubs with the audience `user`. */
  readonly tools?: readonly string[];
  /** Maximum number of replies, 1 to 500. Default 30. */
  readonly maxTurns?: number;
}

/**
 * A simulated user written as code. It gets the conversation so far and returns the next message, or null to end it.
 *
 * @example
 * ```ts
 * const patient = (conversation: readonly unknown[]) => (conversation.length < 4 ? 'And then?' : null);
 * ```
 */
export type UserFunction = (conversation: readonly UserMessage[], context: ToolContext) => Awaitable<string | null>;

/** @throws TypeError for invalid instructions, tools or limits. */
export function defineUser(label: string, user: SimulatedUser<never> | UserFunction): UserDefinition {
  const none = { instructions: undefined, model: undefined, tools: [], maxTurns: MAX_USER_TURNS.default };
  if (typeof user === 'function') return { ...none, next: user };
  const { instructions, model, tools = [], maxTurns = MAX_USER_TURNS.default } = user ?? {};
  if (typeof instructions !== 'string' && typeof instructions !== 'function') {
    throw new TypeError(
      `${label}: user.instructions has to be text or a function of the arguments, got ${typeof instructions}`,
    );
  }
  if (model !== undefined && (typeof model !== 'string' || model === '')) {
    throw new TypeError(`${label}: user.model has to be the name of a model, got ${JSON.stringify(model)}`);
  }
  for (const tool of tools) checkName(`${label}: user tool`, tool);
  if (!Number.isSafeInteger(maxTurns) || maxTurns < 1 || maxTurns > MAX_USER_TURNS.maximum) {
    throw new TypeError(
      `${label}: user.maxTurns has to be an integer from 1 to ${MAX_USER_TURNS.maximum}, got ${maxTurns}`,
    );
  }
  // The cast is safe because the schema of the scenario has read the arguments.
  const write = typeof instructions === 'string' ? () => instructions : (args: unknown) => instructions(args as never);
  return { instructions: write, model, tools: [...tools], maxTurns, next: undefined };
}
