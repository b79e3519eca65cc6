import type { CreateMessageRequestParams, CreateMessageResult } from '@modelcontextprotocol/client';
import { META } from '../contract/names.ts';
import type { SampleRequest, Sampler, UserMessage } from './environment-client.ts';

/**
 * The answers of one connection to its environment's questions to a model. A process may be connected long before
 * anybody knows which model answers.
 */
export class SampleAnswers {
  /** Undefined: nobody here asks a model. */
  answer: Sampler | undefined;
  /** Undefined while no scenario is evaluated. */
  #evaluation: AbortController | undefined;

  /** Runs the request of an evaluation. What is asked meanwhile belongs to it, and is given up when it is over. */
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

  /** @throws Error that tells the environment's code why there is no answer. */
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

/** @throws Error for what is no text: models of harnesses read texts alone. */
function textOf(content: CreateMessageRequestParams['messages'][number]['content']): string {
  const blocks = Array.isArray(content) ? content : [content];
  return blocks
    .map((block) => {
      if (block.type === 'text') return block.text;
      throw new Error(`A model is asked in text here, and not with content of the type "${block.type}"`);
    })
    .join('\n');
}
