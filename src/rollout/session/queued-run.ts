import type { ResolvedModel } from '../../contract/model.ts';
import { EXTERNAL_MODEL } from '../../contract/service/seat.ts';
import { toModelFields } from '../../store/models/registered-models.ts';
import type { NewTrace } from '../../store/traces/trace-store.ts';

type Queued = NewTrace['queued'];
type NeededField = 'origin' | 'env_name' | 'scenario_name' | 'max_steps' | 'timeout_seconds';
type DefaultedField = 'scenario_args' | 'seed' | 'sampling' | 'metadata' | 'priority';
type OptionalField = 'agent' | 'user_model' | 'judge_model' | 'user_script' | 'evaluation' | 'parent';

/** The fields of a new run. `scenario_name` is the short name. */
export type WantedRun = Pick<Queued, NeededField> &
  Partial<Pick<Queued, DefaultedField>> & {
    /** Undefined: the agent brings its own. */
    readonly model: ResolvedModel | string | undefined;
  } & { readonly [Field in OptionalField]?: Queued[Field] | null | undefined };

/** The run that a request describes, in the format of the queue and the trace. */
export function toQueuedRun(run: WantedRun): Queued {
  const { agent, user_model, judge_model, user_script, evaluation, parent } = run;
  return {
    origin: run.origin,
    env_name: run.env_name,
    scenario_name: run.scenario_name,
    scenario_args: run.scenario_args ?? {},
    ...modelFields(run.model),
    max_steps: run.max_steps,
    timeout_seconds: run.timeout_seconds,
    seed: run.seed ?? null,
    sampling: run.sampling ?? {},
    metadata: run.metadata ?? {},
    priority: run.priority ?? 0,
    ...(agent == null ? {} : { agent }),
    ...(user_model == null ? {} : { user_model }),
    ...(judge_model == null ? {} : { judge_model }),
    ...(user_script == null ? {} : { user_script }),
    ...(evaluation == null ? {} : { evaluation }),
    ...(parent == null ? {} : { parent }),
  };
}

function modelFields(model: WantedRun['model']): ReturnType<typeof toModelFields> {
  if (model === undefined) return { model: EXTERNAL_MODEL };
  return typeof model === 'string' ? { model } : toModelFields(model);
}
