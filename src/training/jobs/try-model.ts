import type { AgentTool } from '../../contract/chat.ts';
import type { ChatModel, ReferenceContext } from '../../models/gateway/chat-model.ts';
import { withDeadline } from '../../support/runtime/deadline.ts';

const TRY_MS = 60_000;

/** A minimal tool. A model that is served without tools is useless for an agent. */
const PING: AgentTool = {
  name: 'ping',
  description: 'Answers that it is there.',
  input_schema: { type: 'object', properties: {} },
};

/**
 * Asks a model for one completion with a tool schema. The model need not call the tool.
 *
 * @throws BoundaryError with the gateway's answer; Error after a minute; the reason of the signal.
 */
export async function tryModel(model: ChatModel, signal: AbortSignal): Promise<void> {
  await withDeadline(
    (within) =>
      model.respond({
        messages: [{ role: 'user', content: 'Are you there?' }],
        tools: [PING],
        sampling: { max_tokens: 16 },
        signal: within,
      }),
    { ms: TRY_MS, signal, toError: (limit) => new Error(`${model.name} did not answer within ${limit}.`) },
  );
}

/** Context for a reference model outside of any scenario. */
export const NO_SCENARIO: ReferenceContext = {
  seed: 0,
  scenario: 'none',
  answerSchema: () => null,
  solution: async () => ({ calls: [], answer: '', done: true }),
};
