import { z } from 'zod';
import { ApiError } from '../../../contract/errors.ts';
import {
  type EvaluationAccepted,
  evaluationAcceptedSchema,
  evaluationRequestSchema,
} from '../../../contract/service/evaluation.ts';
import { checkSize } from '../../../contract/size-limits.ts';
import { EVALUATION_LIMITS, taskSchema } from '../../../contract/task.ts';
import type { Catalogue } from '../../../environment/client/catalogue.ts';
import type {
  CreatedEvaluation,
  CreateOptions,
  EvaluationStore,
  NewEvaluation,
} from '../../../evaluation/evaluations/evaluation-store.ts';
import { checkTasks } from '../../../evaluation/tasks/check-tasks.ts';
import type { Tasksets } from '../../../evaluation/tasks/find-tasksets.ts';
import { readTaskList } from '../../../evaluation/tasks/read-task-list.ts';
import type { Taskset } from '../../../evaluation/tasks/taskset.ts';
import type { Models } from '../../../models/gateway/create-model.ts';
import type { Agents } from '../../../rollout/agents/agents.ts';
import { Idempotency } from '../../../store/accounts/idempotency.ts';
import type { Database, DatabaseTransaction } from '../../../store/database/database.ts';
import { RegisteredModels } from '../../../store/models/registered-models.ts';
import { accountOf } from '../../../support/http/api/api-keys.ts';
import { defineRoute, type Route, type RouteReply, type RouteRequest } from '../../../support/http/api/route.ts';
import { checkAgent } from '../worker/check-agent.ts';
import { checkHarnessNeeds } from '../worker/check-harness-needs.ts';
import { checkMetadata } from './check-metadata.ts';
import { chooseTasks, createFromEarlier, parseOnlyList } from './only-tasks.ts';

export interface CreateEvaluationOptions {
  readonly catalogue: Catalogue;
  readonly tasksets: Tasksets;
  readonly models: Models;
  readonly agents: Agents | undefined;
  readonly database: Database;
  /** True lets a caller name any program of this machine as its agent. */
  readonly allowsCommands: boolean;
  readonly evaluations: EvaluationStore;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Tasks of a body are parsed one by one, so that an error names the task. */
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

/** `POST /v1/evaluations`. All tasks and models are checked before the evaluation is created. */
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
        'capacity_exceeded',
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
    const { json, signal } = request;
    const { answer } = await this.#idempotency.once(place, json, signal, (keep) => this.#create(request, keep));
    return { body: answer };
  }

  async #create(request: Incoming, keep?: Keep): Promise<EvaluationAccepted> {
    const { catalogue, evaluations } = this.#options;
    const { body, signal } = request;
    const only = parseOnlyList(body.only, body.resume);
    const models = await this.#checkSettings(body, accountOf(request.caller));
    const taskset = chooseTasks(await this.#readTasks(body, signal), only.filters);
    await checkTasks(taskset, catalogue, signal);
    await checkHarnessNeeds(taskset, body, this.#options);
    signal.throwIfAborted(); // A client that has disconnected starts nothing.
    const wanted = toNewEvaluation(request, { taskset, models, ...this.#agentOf(body) });
    const options: CreateOptions = {
      resume: body.resume,
      paused: body.paused,
      ...(keep && { inTransaction: (transaction, row) => keep(transaction, toAccepted(row)) }),
    };
    if (only.ends === undefined) return toAccepted(await evaluations.create(wanted, options));
    return toAccepted(await createFromEarlier(evaluations, { wanted, taskset, ends: only.ends }, options));
  }

  /** @returns the models that play the tasks. */
  async #checkSettings(
    { agent, models, sampling, metadata }: Incoming['body'],
    account: string,
  ): Promise<readonly string[]> {
    const check = async (model: string, index: number) =>
      (await this.#registered.check(this.#options.models, account, model, `models.${index}`)).target;
    const playing = await checkAgent({ agent, models }, this.#options, check, this.#options.allowsCommands);
    if (playing === undefined) {
      const which = agent === null ? 'a list of 1 to 100 names' : `name the model that the agent ${agent} asks`;
      throw new ApiError('missing_required_parameter', `models is required: ${which}.`, { param: 'models' });
    }
    checkSize('sampling', sampling);
    checkMetadata(metadata);
    return playing;
  }

  #agentOf({ agent }: Incoming['body']): Pick<NewEvaluation, 'agent' | 'agentVersion'> {
    return agent === null ? {} : { agent, agentVersion: this.#options.agents?.find(agent).version ?? null };
  }

  async #readTasks(
    { tasks, tasks_from: from }: Pick<Incoming['body'], 'tasks' | 'tasks_from'>,
    signal: AbortSignal,
  ): Promise<Taskset> {
    if (typeof tasks === 'string') return await this.#options.tasksets.load(tasks, signal);
    return from === null ? readTaskList(null, tasks) : readTaskList(from.name, tasks, from);
  }
}

function toNewEvaluation(
  { body, caller, json }: Incoming,
  what: Pick<NewEvaluation, 'taskset' | 'models' | 'agent' | 'agentVersion'>,
): NewEvaluation {
  // An evaluation that continues keeps the settings that the request omits.
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

function toAccepted({ evaluationId, evaluationUrl, status, isNew }: CreatedEvaluation): EvaluationAccepted {
  return { evaluation_id: evaluationId, evaluation_url: evaluationUrl, status, is_new: isNew };
}
