import { z } from 'zod';
import { Idempotency } from '../accounts/idempotency.ts';
import type { Agents } from '../agents/agents.ts';
import type { Catalogue } from '../client/catalogue.ts';
import { ApiError } from '../contract/errors.ts';
import { type EvaluationAccepted, evaluationAcceptedSchema, evaluationRequestSchema } from '../contract/evaluation.ts';
import { checkSize } from '../contract/size-limits.ts';
import { EVALUATION_LIMITS, taskSchema } from '../contract/task.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import type { CreatedEvaluation, EvaluationStore, NewEvaluation } from '../evaluations/evaluation-store.ts';
import { accountOf } from '../http/api-keys.ts';
import { defineRoute, type Route, type RouteReply, type RouteRequest } from '../http/route.ts';
import type { Models } from '../model/create-model.ts';
import { RegisteredModels } from '../model/registered-models.ts';
import { checkTasks } from '../tasks/check-tasks.ts';
import type { Tasksets } from '../tasks/find-tasksets.ts';
import { readTaskList } from '../tasks/read-task-list.ts';
import type { Taskset } from '../tasks/taskset.ts';
import { checkAgent } from './check-agent.ts';
import { checkHarnessNeeds } from './check-harness-needs.ts';
import { checkMetadata } from './check-metadata.ts';

export interface CreateEvaluationOptions {
  readonly catalogue: Catalogue;
  readonly tasksets: Tasksets;
  readonly models: Models;
  readonly agents: Agents | undefined;
  readonly database: Database;
  readonly evaluations: EvaluationStore;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Tasks of a body are read one by one: what is wrong with them is said with their place. */
const requestSchema = evaluationRequestSchema.extend({
  tasks: z.union([
    z.string().min(1),
    z
      .array(z.unknown())
      .min(1)
      .meta({ items: z.toJSONSchema(taskSchema, { io: 'input', unrepresentable: 'any' }) }),
  ]),
});

type Incoming = RouteRequest<z.output<typeof requestSchema>>;

/** `POST /v1/evaluations`: all tasks and models are checked before the evaluation exists. */
export function createCreateEvaluationRoute(options: CreateEvaluationOptions): Route {
  const creation = new Creation(options);
  return defineRoute({
    method: 'POST',
    path: '/v1/evaluations',
    summary: 'Run every task with every model, several times; or go on with the same evaluation (`resume`)',
    access: 'key-or-browser',
    request: requestSchema,
    largeBodyBytes: EVALUATION_LIMITS.bodyBytes,
    response: evaluationAcceptedSchema,
    about: {
      requestHeaders: {
        'Content-Encoding': '`gzip`, or none; at most 64 MiB before and after',
        'Idempotency-Key':
          'The same request with the same key gets the same answer for 24 hours, and makes one evaluation, as long as it exists',
      },
      errors: [
        'missing_required_parameter',
        'invalid_scenario_args',
        'env_not_found',
        'scenario_not_found',
        'taskset_not_found',
        'model_not_found',
        'agent_not_found',
        'evaluation_not_found',
        'idempotency_conflict',
        'request_in_progress',
        'environment_failed',
        'store_unavailable',
      ],
    },
    handle: (request) => creation.handle(request),
  });
}

type Keep = (transaction: DatabaseTransaction, accepted: EvaluationAccepted) => Promise<void>;

class Creation {
  readonly #options: CreateEvaluationOptions;
  readonly #idempotency: Idempotency<EvaluationAccepted>;
  readonly #registered: RegisteredModels;

  constructor(options: CreateEvaluationOptions) {
    this.#options = options;
    const { database, now } = options;
    this.#registered = new RegisteredModels(database);
    this.#idempotency = new Idempotency({
      database,
      scope: 'evaluation',
      now,
      isAlive: async ({ evaluation_id }) => {
        const found = await database.kysely
          .selectFrom('evaluations')
          .select('status')
          .where('evaluation_id', '=', evaluation_id)
          .executeTakeFirst();
        return found !== undefined && found.status !== 'deleted';
      },
    });
  }

  async handle(request: Incoming): Promise<RouteReply> {
    const key = request.headers['idempotency-key'];
    if (typeof key !== 'string') return { body: await this.#create(request) };
    const place = { account: accountOf(request.caller), key };
    const { answer } = await this.#idempotency.once(place, request.json, (keep) => this.#create(request, keep));
    return { body: answer };
  }

  async #create(request: Incoming, keep?: Keep): Promise<EvaluationAccepted> {
    const { catalogue, evaluations } = this.#options;
    const { body, signal } = request;
    const models = await this.#checkSettings(body, accountOf(request.caller));
    const taskset = await this.#readTasks(body.tasks, signal);
    await checkTasks(taskset, catalogue, signal);
    await checkHarnessNeeds(taskset, body, this.#options);
    const created = await evaluations.create(toNewEvaluation(request, { taskset, models, ...this.#agentOf(body) }), {
      resume: body.resume,
      ...(keep && { alongside: (transaction, row) => keep(transaction, toAccepted(row)) }),
    });
    return toAccepted(created);
  }

  /** @returns the models that play. */
  async #checkSettings(
    { agent, models, sampling, metadata }: Incoming['body'],
    account: string,
  ): Promise<readonly string[]> {
    const check = async (model: string, index: number) => {
      const resolved = await this.#registered.resolve(account, model, `models.${index}`);
      inField(`models.${index}`, () => this.#options.models.check(resolved));
      return resolved.target;
    };
    const playing = await checkAgent({ agent, models }, this.#options, check);
    if (playing === undefined) {
      throw new ApiError('missing_required_parameter', 'models is required: a list of 1 to 100 names.', {
        param: 'models',
      });
    }
    checkSize('sampling', sampling);
    checkMetadata(metadata);
    return playing;
  }

  #agentOf({ agent }: Incoming['body']): Pick<NewEvaluation, 'agent' | 'agentVersion'> {
    return agent === null ? {} : { agent, agentVersion: this.#options.agents?.find(agent).version ?? null };
  }

  async #readTasks(tasks: string | readonly unknown[], signal: AbortSignal): Promise<Taskset> {
    return typeof tasks === 'string' ? await this.#options.tasksets.load(tasks, signal) : readTaskList(null, tasks);
  }
}

/** A refusal by a part that does not know the fields of the request. */
function inField(param: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new ApiError(error.code, error.message, { param, headers: error.headers, cause: error });
  }
}

function toNewEvaluation(
  { body, caller, json }: Incoming,
  what: Pick<NewEvaluation, 'taskset' | 'models' | 'agent' | 'agentVersion'>,
): NewEvaluation {
  // One that goes on keeps what the request does not speak of.
  const isGiven = (name: string) => typeof json === 'object' && json !== null && Object.hasOwn(json, name);
  return {
    account: accountOf(caller),
    keyId: caller?.keyId ?? null,
    name: body.name,
    ...what,
    userModel: body.user_model,
    judgeModel: body.judge_model,
    attempts: body.attempts,
    maxSteps: body.max_steps,
    timeoutSeconds: body.timeout_seconds,
    sampling: body.sampling,
    seed: body.seed,
    concurrency: isGiven('concurrency') ? body.concurrency : undefined,
    budget: isGiven('budget') ? body.budget : undefined,
    passThreshold: body.pass_threshold,
    metadata: body.metadata,
    parent: body.parent,
  };
}

function toAccepted({ evaluationId, evaluationUrl, status }: CreatedEvaluation): EvaluationAccepted {
  return { evaluation_id: evaluationId, evaluation_url: evaluationUrl, status };
}
