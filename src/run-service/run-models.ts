import { BoundaryError } from '../contract/errors.ts';
import type { AttemptGuard, AttemptGuards } from '../evaluations/attempt-guards.ts';
import type { CallGuard } from '../model/call-guard.ts';
import type { ChatModel, ReferenceContext } from '../model/chat-model.ts';
import type { AskedModel, Models } from '../model/create-model.ts';
import { freeOfCost } from '../model/prices.ts';
import { isReferenceModel } from '../model/reference-models.ts';
import { toAskedModel } from '../model/registered-models.ts';
import type { TraceRow } from '../trace/trace-store.ts';

/** The models of one attempt: that of its agent, and those that its harness asks. Each has prices and limits of its own. */
export interface RunModels {
  /** Watches over the calls of the agent's model; undefined for a run of no evaluation, and for a model without a gateway. */
  readonly agentGuard: CallGuard | undefined;
  /** @throws BoundaryError boundary `model` for a name that cannot be used. */
  createForAgent(context: ReferenceContext): ChatModel;
  /** For a simulated user or a judge. @throws as `createForAgent` */
  createForHarness(name: string): ChatModel;
  end(): void;
}

interface Parts {
  readonly models: Models;
  readonly guards?: AttemptGuards | undefined;
}

/** @throws what the database failed with. */
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

/** A user and a judge never get what the harness knows. */
const NO_SOLUTION: ReferenceContext = {
  seed: null,
  scenario: '',
  answerSchema: () => null,
  solution: async () => {
    throw new BoundaryError('model', 'model_not_found', 'A model that the harness asks has no solution');
  },
};

/** The guards of an attempt of an evaluation, one for each model. They begin together, when the first one is asked for. */
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
    /** The guard of a model that may never be asked. */
    later: (name: string): CallGuard | undefined => {
      if (models.gatewayOf(name) === undefined) return undefined;
      const guard = known.get(name) ?? openedLater(() => open(name));
      known.set(name, guard);
      return guard;
    },
    end: () => {
      hasEnded = true;
      // One that could not begin has said so to whoever asked for it.
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
