import type { AgentTool, TranscriptMessage } from '../../../contract/chat.ts';
import { textOfContent } from '../../../contract/content-text.ts';
import { BoundaryError, messageOf } from '../../../contract/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import { didYouMean } from '../../../support/text/did-you-mean.ts';
import type { ChatModel, ModelRequest, ModelResponse, ReferenceContext, SolutionStepResult } from '../chat-model.ts';
import { answerWith, callWith } from './reference-response.ts';

/** Characters of a failed call's result in the run's error. The trace has the whole result. */
const MAX_TOLD = 2_000;

type ToolMessage = Extract<TranscriptMessage, { role: 'tool' }>;
type SolutionPart = Awaited<ReturnType<ReferenceContext['solution']>>;

/**
 * `proctor/oracle`: plays the scenario's solution, one call in each response, then gives its answer (again in every
 * later turn). If the solution is a generator, it asks for the next call after the result of the last one.
 */
export class OracleModel implements ChatModel {
  readonly name: string;
  readonly #context: ReferenceContext;
  #part: SolutionPart | undefined;
  /** Number of calls of the part that were made. */
  #playedOfPart = 0;
  /** Ids of all calls that were made, for finding their results. */
  readonly #callIds: string[] = [];
  #tools: readonly AgentTool[] = [];
  /** Error of a call that failed. The solution is not played any further then. */
  #fault: BoundaryError | undefined;

  constructor(name: string, context: ReferenceContext) {
    this.name = name;
    this.#context = context;
  }

  async respond(request: ModelRequest): Promise<ModelResponse> {
    request.signal.throwIfAborted();
    if (this.#fault !== undefined) throw this.#fault;
    this.#tools = request.tools;
    const part = await this.#currentPart(request);
    const call = part.calls[this.#playedOfPart];
    if (call === undefined) return answerWith(toAnswerText(part.answer), request.onDelta);
    this.#playedOfPart += 1;
    const id = `oracle_${this.#callIds.length + 1}`;
    this.#callIds.push(id);
    return callWith({ id, name: call.name, arguments: call.arguments, raw_arguments: null });
  }

  /** Fails the run if a call of the solution fails or is refused, because the scenario is broken then. */
  checkResults(results: readonly ToolMessage[]): void {
    const failed = results.find(({ is_error }) => is_error);
    if (failed === undefined) return;
    this.#fault = solutionFault(this.#describeFailure(failed));
    throw this.#fault;
  }

  #describeFailure({ name, content }: ToolMessage): string {
    const { scenario } = this.#context;
    if (!this.#tools.some((tool) => tool.name === name)) {
      const names = this.#tools.map((tool) => tool.name);
      const meant = didYouMean(name, names);
      return `The solution of the scenario "${scenario}" calls the tool "${name}", which its agent does not have.${meant} It has: ${names.join(', ') || 'no tools'}`;
    }
    const call = `${name}(${preview(this.#part?.calls[this.#playedOfPart - 1]?.arguments)})`;
    return `A call of the solution of the scenario "${scenario}" failed: ${call} gave: ${textOfContent(content).slice(0, MAX_TOLD)}`;
  }

  /** The current part of the solution, or the next one if all calls of the current one were made. */
  async #currentPart(request: ModelRequest): Promise<SolutionPart> {
    const current = this.#part;
    if (current !== undefined && (current.done || this.#playedOfPart < current.calls.length)) return current;
    const next = await this.#ask(request);
    if (!next.done && next.calls.length === 0) {
      throw solutionFault(`The solution of the scenario "${this.#context.scenario}" gave neither a call nor its end`);
    }
    this.#part = next;
    this.#playedOfPart = 0;
    return next;
  }

  async #ask({ messages, signal }: ModelRequest): Promise<SolutionPart> {
    try {
      return await this.#context.solution(toResults(messages, this.#callIds), signal);
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof BoundaryError) throw cause;
      throw solutionFault(
        `The solution of the scenario "${this.#context.scenario}" failed: ${messageOf(cause)}`,
        cause,
      );
    }
  }
}

/** The error for a fault of the scenario, not of the model. */
function solutionFault(message: string, cause?: unknown): BoundaryError {
  return new BoundaryError('setup', 'environment_failed', message, { cause });
}

/** The results of the oracle's own calls, in the order in which it made them. */
function toResults(messages: readonly TranscriptMessage[], callIds: readonly string[]): SolutionStepResult[] {
  return callIds.flatMap((id) => {
    const message = messages.findLast((candidate) => candidate.role === 'tool' && candidate.tool_call_id === id);
    if (message?.role !== 'tool') return [];
    const structured = message.structured_content === undefined ? parseOnlyText(message) : message.structured_content;
    return [{ content: message.content, structured_content: structured, is_error: message.is_error }];
  });
}

/**
 * Parses a result's only text as JSON, because structured content is also sent as text and some transcripts keep only
 * that.
 */
function parseOnlyText(message: { readonly content: SolutionStepResult['content'] }): JsonObject | null {
  const [block] = message.content;
  if (message.content.length !== 1 || typeof block?.text !== 'string') return null;
  try {
    const value: Json = JSON.parse(block.text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The answer as text; JSON for a structured answer. */
function toAnswerText(answer: Json): string {
  if (answer === null) return '';
  return typeof answer === 'string' ? answer : JSON.stringify(answer);
}
