import type { CreateMessageRequestParams, CreateMessageResult } from '@modelcontextprotocol/client';
import { META } from '../../contract/names.ts';
import type { SampleRequest, Sampler, UserMessage } from './environment-client.ts';

/**
 * Answers the questions that the environment of one connection asks a model. A process may connect long before it is
 * known which model answers.
 */
export class SampleAnswers {
  /** Undefined if the client has no model. */
  answer: Sampler | undefined;
  /** Undefined while no scenario is being evaluated. */
  #evaluation: AbortController | undefined;

  /** Runs an evaluation. Questions that arrive meanwhile belong to it and are aborted when it ends. */
  async duringEvaluation<T>(evaluate: () => Promise<T>): Promise<T> {
    const evaluation = new AbortController();
    this.#evaluation = evaluation;
    try {
      return await evaluate();
    } finally {
      if (this.#evaluation === evaluation) this.#evaluation = undefined;
      evaluation.abort(new Error('The evaluation is over'));
    }
  }

  /** @throws Error that tells the environment's code why it gets no answer. */
  async sample(params: CreateMessageRequestParams, signal: AbortSignal): Promise<CreateMessageResult> {
    if (this.answer === undefined) throw new Error('This client has no model for questions of an environment');
    const evaluation = this.#evaluation?.signal;
    const { text, model } = await this.answer({
      ...toQuestion(params),
      isEvaluating: evaluation !== undefined,
      signal: evaluation === undefined ? signal : AbortSignal.any([signal, evaluation]),
    });
    return { role: 'assistant', content: { type: 'text', text }, model, stopReason: 'endTurn' };
  }
}

function toQuestion({
  messages,
  systemPrompt,
  maxTokens,
  _meta,
}: CreateMessageRequestParams): Omit<SampleRequest, 'isEvaluating' | 'signal'> {
  const { [META.purpose]: purpose, ...meta } = { ..._meta };
  return {
    purpose: typeof purpose === 'string' ? purpose : undefined,
    system: systemPrompt ?? null,
    messages: messages.map(({ role, content }): UserMessage => ({ role, content: textOf(content) })),
    maxTokens,
    meta,
  };
}

/** @throws Error for content that is not text, because the harness sends only text to its models. */
function textOf(content: CreateMessageRequestParams['messages'][number]['content']): string {
  const blocks = Array.isArray(content) ? content : [content];
  return blocks
    .map((block) => {
      if (block.type === 'text') return block.text;
      throw new Error(`Questions to a model can only be text, not content of the type "${block.type}"`);
    })
    .join('\n');
}
