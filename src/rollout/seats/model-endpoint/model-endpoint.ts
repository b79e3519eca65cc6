import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../../../contract/errors.ts';
import {
  type Dialect,
  type DialectRequest,
  type ListedModel,
  toDialectError,
} from '../../../models/dialects/dialect.ts';
import { DIALECTS } from '../../../models/dialects/dialects.ts';
import { isSdkRetry, type Operation } from '../../../models/dialects/operations.ts';
import { estimatePromptTokens } from '../../../models/gateway/token-estimate.ts';
import { readBody } from '../../../support/http/api/body.ts';
import { toApiError } from '../../../support/http/api/errors.ts';
import { requestIdOf } from '../../../support/http/listen.ts';
import { sendReply } from '../../../support/http/reply/send-reply.ts';
import { ModelCalls, type ModelCallsOptions, runFinished } from './model-calls.ts';
import { RepeatedRequests } from './repeated-requests.ts';
import { type AllowedTools, checkProviderTools } from './request-checks.ts';
import { SharedResponse } from './shared-response.ts';

/** Largest request in bytes: a long transcript with its images. */
const MAX_BODY_BYTES = 64 * 1_024 * 1_024;

export interface ModelEndpointOptions extends ModelCallsOptions {
  /** Provider tools that the scenario allows. */
  readonly allowed: AllowedTools;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** The model addresses of one seat. They read the agent's requests in its protocol and answer them. */
export class ModelEndpoint {
  readonly calls: ModelCalls;
  readonly #options: ModelEndpointOptions;
  readonly #repeated = new RepeatedRequests();

  constructor(options: ModelEndpointOptions) {
    this.#options = options;
    this.calls = new ModelCalls(options);
  }

  /** Answers a request whose secret has been checked. Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse, operation: Operation): Promise<void> {
    const dialect = DIALECTS[operation.dialect];
    try {
      if (this.#options.agent.isOver) throw runFinished();
      await this.#answer(request, response, operation);
    } catch (thrown) {
      const requestId = requestIdOf(response);
      // If the run has ended meanwhile, that is the error to send.
      const error = this.#options.agent.isOver ? runFinished() : toApiError(thrown, requestId);
      sendReply(response, dialect.writeError(toDialectError(error)));
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, operation: Operation): Promise<void> {
    const dialect = DIALECTS[operation.dialect];
    if (operation.kind === 'list_models') {
      return sendReply(response, { body: dialect.writeModels([this.#model(this.#options.model.name)]) });
    }
    if (operation.kind === 'get_model') {
      return sendReply(response, { body: dialect.writeModel(this.#model(operation.model)) });
    }
    const body = await readBody(request, { limitBytes: MAX_BODY_BYTES, acceptForms: false, acceptGzip: true });
    const { model, isStreamed } = operation;
    const received = { body, model, isStreamed };
    if (operation.kind === 'count_tokens') {
      const read = dialect.readRequest(received);
      const tokens = estimatePromptTokens({ messages: read.messages, tools: read.tools });
      return sendReply(response, { body: dialect.writeTokenCount(tokens) });
    }
    const key = RepeatedRequests.keyOf(`${operation.dialect} ${model ?? ''} ${isStreamed ?? ''}`, body);
    const repeated = this.#repeated.find(key, isSdkRetry(request.headers));
    if (repeated !== undefined) return repeated.join(response);
    const read = dialect.readRequest(received);
    checkProviderTools(read, this.#options.allowed);
    this.#begin(key, { dialect, read, request, response });
  }

  #begin(key: string, { dialect, read, request, response }: StartedCall): void {
    const exchange = new SharedResponse(read.isStreamed);
    this.#repeated.add(key, exchange);
    exchange.join(response);
    const call = { dialect, request: read, headers: request.headers, requestId: requestIdOf(response) };
    void this.calls.play(call, exchange).then(() => this.#repeated.trim());
  }

  /** Lists the run's model under any name. */
  #model(name: string): ListedModel {
    return { name, createdAt: this.#options.createdAt };
  }
}

interface StartedCall {
  readonly dialect: Dialect;
  readonly read: DialectRequest;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The error for a seat without a model. */
export function hasNoModel(): ApiError {
  return new ApiError(
    'invalid_parameter',
    'This seat has no model: its agent brings its own. Open a seat with `model` to ask one here.',
  );
}
