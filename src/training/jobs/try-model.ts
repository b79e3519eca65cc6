import type { AgentTool } from '../../contract/chat.ts';
import type { ChatModel, ReferenceContext } from '../../model/chat-model.ts';
import { withDeadline } from '../../runtime/deadline.ts';

const TRY_MS = 60_000;

/** A tool as small as can be: a model that is served without tools is of no use to an agent. */
const PING: AgentTool = {
  name: 'ping',
  description: 'Answers that it is there.',
  input_schema: { type: 'object', properties: {} },
};

/**
 * Asks a model for one completion with a tool schema. Whether it calls the tool says nothing.
 *
 * @throws BoundaryError with what its gateway answered; Error after a minute; the reason of the signal.
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

/** Context for a reference model that plays no scenario. */
export const NO_SCENARIO: ReferenceContext = {
  seed: 0,
  scenario: 'none',
  answerSchema: () => null,
  solution: async () => ({ calls: [], answer: '', done: true }),
};
