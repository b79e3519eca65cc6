import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { checkIdempotencyKey, conflict, inProgress } from '../accounts/idempotency.ts';
import type { Catalogue } from '../client/catalogue.ts';
import { checkScenarioArgs } from '../client/scenario-args.ts';
import { checkScenarioNeeds } from '../client/scenario-needs.ts';
import { ApiError } from '../contract/errors.ts';
import { type Seat, type SeatRequest, seatAnswerSchema, seatRequestSchema, seatSchema } from '../contract/seat.ts';
import { checkSize } from '../contract/size-limits.ts';
import { traceSchema } from '../contract/trace.ts';
import { accountOf } from '../http/api-keys.ts';
import { toApiError } from '../http/errors.ts';
import { defineRoute, type Route, type RouteReply, type RouteRequest, TRACE_ID_HEADER } from '../http/route.ts';
import type { Models } from '../model/create-model.ts';
import { checkHarnessModels } from '../model/harness-models.ts';
import { answerProblem, readAnswer } from '../seats/answer-tool.ts';
import { SECRET_PLACE, toSeat } from '../seats/seat-view.ts';
import type { HeldSeat, NewSeat, Seats } from '../seats/seats.ts';
import { isFinal } from '../trace/trace-heads.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import { findRow, findTrace, traceNotFound } from '../trace-routes/traces-route.ts';
import { checkMetadata } from './check-metadata.ts';

export interface SeatRoutesOptions {
  readonly seats: Seats;
  readonly catalogue: Catalogue;
  readonly store: TraceStore;
  readonly models: Pick<Models, 'check' | 'harness'>;
  readonly logger: Logger;
  /** Where the trace pages are, without a slash at the end. */
  readonly appUrl: string;
}

/** `POST /v1/agent/seats`, `GET /v1/agent/seats/{trace_id}` and `POST /v1/agent/seats/{trace_id}/answer`. */
export function createSeatRoutes(options: SeatRoutesOptions): readonly Route[] {
  const routes = new SeatRoutes(options);
  const open = defineRoute({
    method: 'POST',
    path: '/v1/agent/seats',
    summary: 'Open a seat: a scenario for an agent with a loop of its own, which plays it over MCP',
    access: 'key-or-browser',
    request: seatRequestSchema,
    response: seatSchema,
    about: {
      requestHeaders: {
        'Idempotency-Key': 'The same request with the same key gets the same seat, as long as that is open',
      },
      replyHeaders: { 'X-Svc-Trace-Id': 'The run; also of a failure, once it has a trace' },
      errors: [
        'missing_required_parameter',
        'invalid_scenario_args',
        'env_not_found',
        'scenario_not_found',
        'model_not_found',
        'idempotency_conflict',
        'request_in_progress',
        'run_finished',
        'quota_exceeded',
        'environment_failed',
        'capacity_exceeded',
        'store_unavailable',
      ],
    },
    handle: (request) => routes.open(request),
  });
  const look = defineRoute({
    method: 'GET',
    path: '/v1/agent/seats/:trace_id',
    summary: 'A seat that is open, without its secret',
    access: 'key-or-browser',
    response: seatSchema,
    about: { errors: ['trace_not_found', 'run_finished'] },
    handle: async ({ params, caller, headers }) => {
      const held = await routes.find(params.trace_id, accountOf(caller));
      return { body: routes.toSeat(held, SECRET_PLACE, headers.host) };
    },
  });
  const answer = defineRoute({
    method: 'POST',
    path: '/v1/agent/seats/:trace_id/answer',
    summary: 'End a seat with an answer, and get its trace',
    access: 'key-or-browser',
    request: seatAnswerSchema,
    response: traceSchema,
    about: { errors: ['missing_required_parameter', 'trace_not_found', 'run_finished'] },
    handle: (request) => routes.answer(request),
  });
  return [open, look, answer];
}

interface Kept {
  readonly body: unknown;
  /** Undefined while it is being opened. */
  seat: NewSeat | undefined;
}

class SeatRoutes {
  readonly #options: SeatRoutesOptions;
  /** Seats by account and `Idempotency-Key`, as long as they are open. Their secrets are nowhere else. */
  readonly #kept = new Map<string, Kept>();

  constructor(options: SeatRoutesOptions) {
    this.#options = options;
  }

  async open(request: RouteRequest<SeatRequest>): Promise<RouteReply> {
    const { caller, headers, json } = request;
    const key = headers['idempotency-key'];
    if (typeof key !== 'string') return this.#toReply(await this.#openNew(request, true), request);
    checkIdempotencyKey(key);
    const place = JSON.stringify([accountOf(caller), key]);
    const kept = this.#kept.get(place);
    if (kept !== undefined && kept.seat?.seat.isOver !== true) {
      if (!isDeepStrictEqual(kept.body, json)) throw conflict();
      if (kept.seat === undefined) throw inProgress();
      return this.#toReply(kept.seat, request);
    }
    const opening: Kept = { body: json, seat: undefined };
    this.#kept.set(place, opening);
    const forget = () => {
      if (this.#kept.get(place) === opening) this.#kept.delete(place);
    };
    try {
      opening.seat = await this.#openNew(request, false);
    } catch (thrown) {
      forget();
      throw thrown;
    }
    void opening.seat.seat.ended.then(forget);
    return this.#toReply(opening.seat, request);
  }

  /** An open seat. @throws ApiError trace_not_found; run_finished for one that has ended. */
  async find(traceId: string | undefined, account: string): Promise<HeldSeat> {
    const { seats, store } = this.#options;
    const row = await findRow(store, traceId, account);
    const held = seats.find(row.traceId, account);
    if (held !== undefined) return held;
    if (row.origin !== 'agent') throw traceNotFound(traceId);
    const state = isFinal(row) ? row.status : 'ending';
    throw new ApiError('run_finished', `The seat of trace ${row.traceId} is closed: its run is ${state}.`);
  }

  async answer({ params, caller, body }: RouteRequest<{ answer?: unknown }>): Promise<RouteReply> {
    const account = accountOf(caller);
    const held = await this.find(params.trace_id, account);
    const { answer } = seatAnswerSchema.parse(body);
    if (answer === undefined || answer === null) return await this.#submitLastText(held, account);
    const schema = held.setup.answer_schema;
    const problem = answerProblem(schema, answer);
    if (problem !== undefined) {
      throw new ApiError('invalid_parameter', `The answer does not fit the scenario: ${problem}.`, { param: 'answer' });
    }
    if (!held.seat.submit(readAnswer(schema, answer))) {
      throw new ApiError('run_finished', `The seat of trace ${held.traceId} is closed: another answer came first.`);
    }
    await held.seat.ended;
    return { body: await findTrace(this.#options.store, held.traceId, account) };
  }

  /** @throws ApiError missing_required_parameter where no text was seen that could be submitted. */
  async #submitLastText(held: HeldSeat, account: string): Promise<RouteReply> {
    const { seat, answer, request } = held;
    const why =
      request.model === null
        ? 'this agent brings its own model, so that no text of it was seen here that could be submitted'
        : answer === 'tool'
          ? 'the seat takes an answer by submit_answer alone ("answer": "tool")'
          : seat.agent.lastText === null
            ? 'the model of this agent has said nothing yet that could be submitted'
            : undefined;
    if (why !== undefined) {
      throw new ApiError('missing_required_parameter', `answer is required: ${why}.`, { param: 'answer' });
    }
    if (!seat.agent.end('answered')) {
      throw new ApiError('run_finished', `The seat of trace ${held.traceId} is closed: another answer came first.`);
    }
    await seat.ended;
    return { body: await findTrace(this.#options.store, held.traceId, account) };
  }

  toSeat(held: HeldSeat, secret: string, host: string | undefined): Seat {
    const { appUrl } = this.#options;
    return toSeat(held, secret, { base: toBase(appUrl, host), appUrl });
  }

  #toReply(seat: NewSeat, { headers }: Pick<RouteRequest, 'headers'>): RouteReply {
    return {
      headers: { [TRACE_ID_HEADER]: seat.traceId, 'cache-control': 'no-store' },
      body: this.toSeat(seat, seat.secret, headers.host),
    };
  }

  /** @param endsWithClient whether a client that goes away meanwhile leaves nobody who could take the seat. */
  async #openNew(request: RouteRequest<SeatRequest>, endsWithClient: boolean): Promise<NewSeat> {
    const { seats, catalogue, models } = this.#options;
    const { body, caller, requestId, signal } = request;
    const scenario = await catalogue.find(body.env_name, body.scenario_name);
    checkScenarioArgs(scenario, body.scenario_args);
    checkModel(body);
    const { user_model, judge_model } = body;
    checkScenarioNeeds(
      scenario,
      { args: body.scenario_args },
      {
        user: user_model ?? models.harness.user,
        judge: judge_model ?? models.harness.judge,
      },
    );
    checkHarnessModels(models, { user_model, judge_model });
    checkSize('sampling', body.sampling);
    checkMetadata(body.metadata);
    const start = {
      request: body,
      scenario: scenario.short_name,
      account: accountOf(caller),
      keyId: caller?.keyId ?? null,
    };
    let traceId: string | undefined;
    const cancel = () => traceId !== undefined && seats.cancel(traceId);
    if (endsWithClient) signal.addEventListener('abort', cancel, { once: true });
    try {
      const seat = await seats.open(start, (created) => {
        traceId = created;
      });
      if (endsWithClient && signal.aborted) cancel();
      return seat;
    } catch (thrown) {
      const error = toApiError(thrown, requestId);
      if (traceId === undefined) throw error;
      throw new ApiError(error.code, error.message, {
        param: error.param,
        headers: { ...error.headers, [TRACE_ID_HEADER]: traceId },
        cause: error.cause ?? error,
      });
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }
}

/** @throws ApiError invalid_parameter for ways to answer that there are not. */
function checkModel({ model, answer }: SeatRequest): void {
  if (model !== null || answer !== 'final_message') return;
  throw new ApiError(
    'invalid_parameter',
    'answer cannot be "final_message" without a model: what the agent says is not seen here. Use "tool".',
    { param: 'answer' },
  );
}

/**
 * The address by which the client has reached this service, since its agent does so too: that of the pages where the names
 * are the same, which knows whether a proxy before it speaks TLS.
 */
function toBase(appUrl: string, host: string | undefined): string {
  return host === undefined || new URL(appUrl).host === host ? appUrl : `http://${host}`;
}
