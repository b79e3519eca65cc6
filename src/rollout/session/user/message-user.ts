import { MESSAGE_USER } from '../../../contract/service/seat.ts';
import type { AgentToolEntry, EnvironmentClient, ToolResult } from '../../../environment/client/environment-client.ts';
import { toErrorResult } from '../../../environment/client/mcp-tools.ts';
import type { AgentTurn } from '../agent.ts';
import type { SpokenReply } from './user-conversation.ts';

/** The tool through which an outside agent talks with the simulated user of its scenario. */
export const MESSAGE_USER_TOOL: AgentToolEntry = {
  name: MESSAGE_USER,
  title: 'Message the user',
  description:
    'Says something to the user, whose task this is, and returns the reply. The user sees nothing else of you.',
  input_schema: {
    type: 'object',
    properties: { message: { type: 'string', minLength: 1, description: 'What you say to the user' } },
    required: ['message'],
    additionalProperties: false,
  },
  output_schema: null,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
};

type Caller = Pick<EnvironmentClient, 'call' | 'protocol' | 'transport'>;

/** Makes the client for a turn's tool calls. The user answers `message_user` if the agent talks with one. */
export function withUser({ client, user, turn }: AgentTurn): Caller {
  if (user === undefined) return client;
  return answeringMessages(client, async (message, signal) => toResult(await user.say(turn, message, signal)));
}

/** Wraps a client so that `answer` handles calls of `message_user`. */
export function answeringMessages(
  client: Caller,
  answer: (message: string, signal: AbortSignal) => Promise<ToolResult>,
): Caller {
  const { protocol, transport } = client;
  return {
    protocol,
    transport,
    call: async (name, args, options = {}) => {
      if (name !== MESSAGE_USER) return await client.call(name, args, options);
      const { message } = args;
      if (typeof message === 'string' && message.trim() !== '') {
        return await answer(message, options.signal ?? new AbortController().signal);
      }
      return toErrorResult(
        `The arguments of ${MESSAGE_USER} have to be {"message": "…"}, with a text that is not empty.`,
      );
    },
  };
}

const OVER = '(The user has ended the conversation.)';

function toResult(reply: SpokenReply | undefined): ToolResult {
  if (reply === undefined) return toErrorResult('The user has ended the conversation, and hears nothing more.');
  // One text block, because some agents show their model only the first.
  const said = [...(reply.message === null ? [] : [reply.message]), ...(reply.isOver ? [OVER] : [])].join('\n');
  return { content: [{ type: 'text', text: said }], structured_content: null, is_error: false };
}

/** The user's text in a result; null if there is none. */
export function spokenIn({ content }: Pick<ToolResult, 'content'>): string | null {
  const [first] = content;
  if (first?.type !== 'text' || typeof first.text !== 'string' || first.text === OVER) return null;
  return first.text.endsWith(`\n${OVER}`) ? first.text.slice(0, -OVER.length - 1) : first.text;
}
