import { BoundaryError } from '../../../contract/errors.ts';
import type { AttemptGuard, AttemptGuards } from '../../../evaluation/evaluations/attempt-guards.ts';
import type { CallGuard } from '../../../models/gateway/call-guard.ts';
import type { ChatModel, ReferenceContext } from '../../../models/gateway/chat-model.ts';
import type { AskedModel, Models } from '../../../models/gateway/create-model.ts';
import { freeOfCost } from '../../../models/gateway/prices.ts';
import { isReferenceModel } from '../../../models/gateway/reference/reference-models.ts';
import { toAskedModel } from '../../../store/models/registered-models.ts';
import type { TraceRow } from '../../../store/traces/trace-store.ts';

/** Models of one attempt: the agent's, and those of its harness. Each has its own prices and limits. */
export interface RunModels {
  /** Guards the calls of the agent's model. Undefined outside of evaluations, and for a model without a gateway. */
  readonly agentGuard: CallGuard | undefined;
  /** @throws BoundaryError boundary `model` for a name that cannot be used. */
  createForAgent(context: ReferenceContext): ChatModel;
  /** Creates the model of a simulated user or judge. @throws as `createForAgent` */
  createForHarness(name: string): ChatModel;
  end(): void;
}

interface Parts {
  readonly models: Models;
  readonly guards?: AttemptGuards | undefined;
}

/** @throws an error of the database. */
export async function openRunModels(row: Pick<TraceRow, 'request' | 'traceId'>, parts: Parts): Promise<RunModels> {
  const { models } = parts;
  const asked = toAskedModel(row.request);
  const isAttempt = row.request.evaluation !== undefined && row.request.evaluation !== null;
  const watched = isAttempt ? watchOver(row, parts) : undefined;
  const agentGuard = await watched?.open(asked);
  const toCreated = (model: AskedModel, context: ReferenceContext, guard: CallGuard | undefined) => {
    const created = models.create(model, context, guard);
    return isAttempt && isReferenceModel(toTarget(model)) ? freeOfCost(created) : created;
  };
  return {
    agentGuard,
    createForAgent: (context) => toCreated(asked, context, agentGuard),
    createForHarness: (name) => toCreated(name, NO_SOLUTION, watched?.later(name)),
    end: () => watched?.end(),
  };
}

/** Simulated users and judges never see the solution. */
const NO_SOLUTION: ReferenceContext = {
  seed: null,
  scenario: '',
  answerSchema: () => null,
  solution: async () => {
    throw new BoundaryError('model', 'model_not_found', 'A model that the harness asks has no solution');
  },
};

/** The guards of an attempt, one for each model. All are opened when the first one is used. */
function watchOver({ request, traceId }: Pick<TraceRow, 'request' | 'traceId'>, { models, guards }: Parts) {
  const evaluationId = request.evaluation?.evaluation_id;
  if (guards === undefined || evaluationId === undefined) return undefined;
  let attempt: Promise<AttemptGuard> | undefined;
  let hasEnded = false;
  const known = new Map<string, CallGuard>();
  const begin = async () => {
    attempt ??= guards.begin({ evaluationId, traceId }).then((guard) => {
      if (hasEnded) guard.end();
      return guard;
    });
    return await attempt;
  };
  const open = async (model: AskedModel): Promise<CallGuard | undefined> => {
    const gateway = models.gatewayOf(model);
    return gateway === undefined ? undefined : (await begin()).of({ model: toTarget(model), gateway });
  };
  return {
    open,
    /** Guard for a model that may never be called. */
    later: (name: string): CallGuard | undefined => {
      if (models.gatewayOf(name) === undefined) return undefined;
      const guard = known.get(name) ?? openedLater(() => open(name));
      known.set(name, guard);
      return guard;
    },
    end: () => {
      hasEnded = true;
      // The caller of the guard already got the error.
      void attempt?.then((guard) => guard.end()).catch(() => {});
    },
  };
}

/** A guard that is opened by its first call. */
function openedLater(open: () => Promise<CallGuard | undefined>): CallGuard {
  let opened: Promise<CallGuard | undefined> | undefined;
  return {
    begin: (call) => {
      let watch: ReturnType<CallGuard['begin']> | undefined;
      return {
        enter: async () => {
          opened ??= open();
          watch ??= (await opened)?.begin(call);
          return (await watch?.enter()) ?? null;
        },
        succeeded: async (usage, characters) => await watch?.succeeded(usage, characters),
        failed: async (failure, characters) => (await watch?.failed(failure, characters)) ?? false,
      };
    },
  };
}

function toTarget(model: AskedModel): string {
  return typeof model === 'string' ? model : model.target;
}
