import type { Logger } from 'pino';
import { ApiError } from '../../../contract/errors.ts';
import type { Json } from '../../../contract/json.ts';
import { isEnded } from '../../../contract/service/ended.ts';
import {
  type Seat,
  type SeatRequest,
  seatAnswerSchema,
  seatRequestSchema,
  seatSchema,
} from '../../../contract/service/seat.ts';
import { traceSchema } from '../../../contract/service/trace.ts';
import { checkSize } from '../../../contract/size-limits.ts';
import type { Catalogue } from '../../../environment/client/catalogue.ts';
import { checkScenarioArgs } from '../../../environment/client/scenario-args.ts';
import { checkScenarioNeeds } from '../../../environment/client/scenario-needs.ts';
import type { Models } from '../../../models/gateway/create-model.ts';
import { checkHarnessModels } from '../../../models/gateway/harness-models.ts';
import { answerProblem, readAnswer } from '../../../rollout/seats/answer-tool.ts';
import type { SeatOwners } from '../../../rollout/seats/seat-owners.ts';
import { SECRET_PLACE, toSeat } from '../../../rollout/seats/seat-view.ts';
import type { HeldSeat, NewSeat, SeatStart, Seats } from '../../../rollout/seats/seats.ts';
import { submitLastText } from '../../../rollout/seats/submit-last-text.ts';
import { Idempotency } from '../../../store/accounts/idempotency.ts';
import type { Database } from '../../../store/database/database.ts';
import type { TraceStore } from '../../../store/traces/trace-store.ts';
import { accountOf } from '../../../support/http/api/api-keys.ts';
import { toApiError } from '../../../support/http/api/errors.ts';
import {
  defineRoute,
  type Route,
  type RouteReply,
  type RouteRequest,
  TRACE_ID_HEADER,
} from '../../../support/http/api/route.ts';
import { findRow, findTrace, traceNotFound } from '../../traces/traces-route.ts';
import { checkMetadata } from './check-metadata.ts';

export interface SeatRoutesOptions {
  readonly seats: Seats;
  /** Finds seats that other processes of the same database hold. */
  readonly owners: Pick<SeatOwners, 'ask' | 'isElsewhere' | 'baseOf'>;
  readonly catalogue: Catalogue;
  readonly database: Database;
  readonly store: TraceStore;
  readonly models: Pick<Models, 'check' | 'harness'>;
  readonly logger: Logger;
  /** Address of the trace pages, without a slash at the end. */
  readonly appUrl: string;
  /** Address at which agents reach the seats. Undefined: the address of the request or of the pages. */
  readonly base: () => string | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
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
    about: { errors: ['trace_not_found', 'run_finished', 'environment_failed'] },
    handle: (request) =>
      routes.atHolder(request, async (held) => ({ body: routes.toSeat(held, SECRET_PLACE, request) })),
  });
  const answer = defineRoute({
    method: 'POST',
    path: '/v1/agent/seats/:trace_id/answer',
    summary: 'End a seat with an answer, and get its trace',
    access: 'key-or-browser',
    request: seatAnswerSchema,
    response: traceSchema,
    about: { errors: ['missing_required_parameter', 'trace_not_found', 'run_finished', 'environment_failed'] },
    handle: (request) => routes.atHolder(request, (held) => routes.answer(held, request)),
  });
  return [open, look, answer];
}

interface KeptSeat {
  readonly trace_id: string;
}

class SeatRoutes {
  readonly #options: SeatRoutesOptions;
  readonly #idempotency: Idempotency<KeptSeat>;
  /** Seats that were opened here with an `Idempotency-Key` and are still open. Only this map has their secrets. */
  readonly #told = new Map<string, NewSeat>();

  constructor(options: SeatRoutesOptions) {
    this.#options = options;
    this.#idempotency = new Idempotency({
      database: options.database,
      scope: 'seat',
      now: options.now,
      isAlive: async ({ trace_id }) =>
        this.#told.get(trace_id)?.seat.isOver === false || (await options.owners.isElsewhere(trace_id)),
    });
  }

  async open(request: RouteRequest<SeatRequest>): Promise<RouteReply> {
    const { caller, headers, json, signal } = request;
    const key = headers['idempotency-key'];
    if (typeof key !== 'string') return this.#toReply(await this.#openNew(request, { endsWithClient: true }), request);
    const { answer } = await this.#idempotency.once({ account: accountOf(caller), key }, json, signal, async (keep) => {
      const seat = await this.#openNew(request, {
        endsWithClient: false,
        inTransaction: (transaction, trace_id) => keep(transaction, { trace_id }),
      });
      this.#told.set(seat.traceId, seat);
      void seat.seat.ended.then(() => this.#told.delete(seat.traceId));
      return { trace_id: seat.traceId };
    });
    const told = this.#told.get(answer.trace_id);
    if (told !== undefined) return this.#toReply(told, request);
    const reply = await this.#options.owners.ask(answer.trace_id, request, this.#baseOf(request));
    if (reply !== undefined) return reply;
    const message = `The seat of trace ${answer.trace_id}, which this Idempotency-Key has opened, has just ended: send the request again for a new one.`;
    throw new ApiError('run_finished', message);
  }

  /**
   * Answers a request about an open seat, or forwards it to the process that holds the seat.
   *
   * @throws ApiError trace_not_found; run_finished for a seat that has ended.
   */
  async atHolder(request: RouteRequest, answer: (held: HeldSeat) => Promise<RouteReply>): Promise<RouteReply> {
    const { seats, store, owners } = this.#options;
    const account = accountOf(request.caller);
    const row = await findRow(store, request.params.trace_id, account);
    const held = seats.find(row.traceId, account);
    if (held !== undefined) return await answer(held);
    if (row.origin !== 'agent') throw traceNotFound(request.params.trace_id);
    const reply = isEnded(row.status) ? undefined : await owners.ask(row.traceId, request, this.#baseOf(request));
    if (reply !== undefined) return reply;
    const state = isEnded(row.status) ? row.status : 'ending';
    throw new ApiError('run_finished', `The seat of trace ${row.traceId} is closed: its run is ${state}.`);
  }

  async answer(held: HeldSeat, { caller, body }: RouteRequest): Promise<RouteReply> {
    const account = accountOf(caller);
    const { answer } = seatAnswerSchema.parse(body);
    if (answer === undefined || answer === null) submitLastText(held);
    else this.#submit(held, answer);
    await held.seat.ended;
    return { body: await findTrace(this.#options.store, held.traceId, account) };
  }

  #submit({ seat, setup, traceId }: HeldSeat, answer: Json): void {
    const schema = setup.answer_schema;
    const problem = answerProblem(schema, answer);
    if (problem !== undefined) {
      throw new ApiError('invalid_parameter', `The answer does not fit the scenario: ${problem}.`, { param: 'answer' });
    }
    if (!seat.submit(readAnswer(schema, answer))) {
      throw new ApiError('run_finished', `The seat of trace ${traceId} is closed: another answer came first.`);
    }
  }

  toSeat(held: HeldSeat, secret: string, request: Pick<RouteRequest, 'headers'>): Seat {
    return toSeat(held, secret, { base: this.#baseOf(request), appUrl: this.#options.appUrl });
  }

  #baseOf(request: Pick<RouteRequest, 'headers'>): string {
    const { owners, appUrl, base } = this.#options;
    return owners.baseOf(request) ?? base() ?? toBase(appUrl, request.headers.host);
  }

  #toReply(seat: NewSeat, request: Pick<RouteRequest, 'headers'>): RouteReply {
    return {
      headers: { [TRACE_ID_HEADER]: seat.traceId, 'cache-control': 'no-store' },
      body: this.toSeat(seat, seat.secret, request),
    };
  }

  async #openNew(request: RouteRequest<SeatRequest>, { endsWithClient, inTransaction }: Opening): Promise<NewSeat> {
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
      inTransaction,
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

interface Opening extends Pick<SeatStart, 'inTransaction'> {
  /** True if the seat is useless after its client disconnects, since no other request can find it. */
  readonly endsWithClient: boolean;
}

/** @throws ApiError invalid_parameter for a way to answer that the seat does not have. */
function checkModel({ model, answer }: SeatRequest): void {
  if (model !== null || answer !== 'final_message') return;
  throw new ApiError(
    'invalid_parameter',
    'answer cannot be "final_message" without a model: what the agent says is not seen here. Use "tool".',
    { param: 'answer' },
  );
}

/**
 * Address for the agent: the one that the client used. If its host is that of the pages, their address is used, which
 * says whether a proxy speaks TLS.
 */
function toBase(appUrl: string, host: string | undefined): string {
  return host === undefined || new URL(appUrl).host === host ? appUrl : `http://${host}`;
}
