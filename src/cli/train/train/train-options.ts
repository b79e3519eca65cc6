import { type Command, Option } from 'commander';
import type { JsonObject } from '../../../contract/json.ts';
import { REGISTERED_NAME_PATTERN } from '../../../contract/model.ts';
import { type DatasetSource, datasetFilterSchema } from '../../../contract/service/dataset.ts';
import type { TrainingInput } from '../../../contract/service/training.ts';
import { IMITATION_PROVIDER } from '../../../contract/service/training-states.ts';
import { UsageError } from '../../base/failure.ts';
import { collect, parseNumber, parseSampling, parseServiceUrl, wholeNumber } from '../../base/options.ts';
import { addPoolOptions, type PoolCommandOptions } from '../../base/pool-options.ts';
import { parseFields } from '../parse-fields.ts';

/** Options of `proctor train` as typed. */
export interface TrainOptions extends FollowOptions {
  readonly name?: string;
  readonly base?: string;
  readonly provider: string;
  readonly evaluation?: readonly string[];
  readonly filter?: readonly string[];
  readonly minReward?: number;
  readonly maxPerTask?: number;
  readonly choose?: 'shortest' | 'best' | 'random';
  readonly split?: readonly ('train' | 'validation')[];
  readonly includeReference?: boolean;
  readonly validation?: number;
  readonly reasoning?: boolean;
  readonly method: 'supervised' | 'dpo';
  readonly hyperparameters?: JsonObject;
  readonly heldOut?: readonly string[];
  readonly evaluate?: readonly string[] | true;
  readonly attempts?: number;
  readonly seed?: number;
}

/** Options of the commands that follow a job to its end. */
export interface FollowOptions extends PoolCommandOptions {
  readonly wait?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
  readonly service?: string;
  /** Least difference between the mean rewards of the new model and the base. */
  readonly minGain?: number;
}

export function addFollowOptions(command: Command): Command {
  return addPoolOptions(command)
    .option('--service <url>', 'train at this run service, with the key of PROCTOR_API_KEY', parseServiceUrl)
    .option('--no-wait', 'set it going and end at once: a service or workers of the same database do the work')
    .option(
      '--min-gain <difference>',
      'the mean reward has to be above that of the base by this: exit 1, 3 or 4',
      parseNumber,
    )
    .option('-q, --quiet', 'no progress, only the end')
    .option('--json', 'print the job as one JSON object');
}

export function addTrainOptions(command: Command): Command {
  const method = new Option('--method <method>', 'how it is trained').choices(['supervised', 'dpo']);
  const split = new Option('--split <split...>', 'traces of tasks of these splits alone');
  return command
    .option('--name <name>', 'the name of the model that it makes: a `model` everywhere from then on')
    .option('--base <model>', 'the model that it is trained from')
    .option('--provider <trainer>', 'a trainer of the configuration', IMITATION_PROVIDER)
    .option('--evaluation <evaluation>', 'learn from its successful runs; may be repeated', collect)
    .option('--filter <name=value>', 'learn from traces like that, instead of evaluations; may be repeated', collect)
    .option('--min-reward <reward>', 'of the runs that it learns from (default 1)', parseNumber)
    .option('--max-per-task <count>', 'runs of one task (default 4)', wholeNumber(1, 1_000))
    .addOption(
      new Option('--choose <rule>', 'which of them (default shortest)').choices(['shortest', 'best', 'random']),
    )
    .addOption(split.choices(['train', 'validation']))
    .option('--validation <share>', 'share of the tasks for validation (default 0.1)', parseNumber)
    .option('--no-reasoning', 'leave out the reasoning of the model')
    .option('--include-reference', 'learn from runs of reference models too')
    .addOption(method.default('supervised'))
    .option('--hyperparameters <json>', 'for the trainer, as one JSON object: {"n_epochs":3}', parseSampling)
    .option('--held-out <taskset>', 'never train on these tasks; may be repeated', collect)
    .option('--evaluate [taskset...]', 'evaluate base and model in the end (default: the tasks of --held-out)')
    .option('-n, --attempts <count>', 'attempts of each of those tasks (default 1)', wholeNumber(1, 1_000))
    .option('--seed <seed>', 'of the choice of runs, and of these attempts', wholeNumber(Number.MIN_SAFE_INTEGER));
}

/** Converts options to a request. @param evaluations ids of evaluations. @throws UsageError */
export function toTrainingInput(options: TrainOptions, evaluations: readonly string[]): TrainingInput {
  const { name, base, provider, method, seed, evaluate, heldOut = [] } = options;
  if (name === undefined) throw new UsageError('Give the model a name with --name.');
  if (!REGISTERED_NAME_PATTERN.test(name)) {
    throw new UsageError('--name has 1 to 64 letters, digits, ".", "_" and "-", and begins with a letter or digit.');
  }
  if (base === undefined) throw new UsageError('Name the model that it is trained from with --base.');
  const tasks = evaluate === true || evaluate === undefined ? undefined : [...evaluate];
  return {
    name,
    base,
    provider,
    method,
    from: toSource(options, evaluations),
    select: {
      ...(options.minReward === undefined ? {} : { min_reward: options.minReward }),
      ...(options.maxPerTask === undefined ? {} : { max_per_task: options.maxPerTask }),
      ...(options.choose === undefined ? {} : { choose: options.choose }),
      ...(options.split === undefined ? {} : { splits: [...options.split] }),
      ...(options.validation === undefined ? {} : { validation: options.validation }),
      ...(options.includeReference === undefined ? {} : { include_reference: options.includeReference }),
      ...(options.reasoning === false ? { reasoning: 'drop' as const } : {}),
      ...(seed === undefined ? {} : { seed }),
    },
    ...(options.hyperparameters === undefined ? {} : { hyperparameters: options.hyperparameters }),
    held_out: [...heldOut],
    evaluate:
      evaluate === undefined ? null : { ...(tasks && { tasks }), attempts: options.attempts ?? 1, seed: seed ?? null },
  };
}

/** @throws UsageError */
function toSource({ filter = [] }: TrainOptions, evaluations: readonly string[]): DatasetSource {
  if (evaluations.length > 0 && filter.length > 0) {
    throw new UsageError('--evaluation and --filter both say what to learn from: take one of them.');
  }
  if (evaluations.length > 0) return { evaluations: [...evaluations] };
  if (filter.length === 0) {
    throw new UsageError('Say what to learn from: --evaluation <id>, or --filter env_name=<name>.');
  }
  const values = filter.map((pair): [string, string | number] => {
    const at = pair.indexOf('=');
    if (at < 1) throw new UsageError(`--filter takes name=value, not ${JSON.stringify(pair)}.`);
    const [key, text] = [pair.slice(0, at), pair.slice(at + 1)];
    const isNumber = key.endsWith('_reward') && text.trim() !== '' && Number.isFinite(Number(text));
    return [key, isNumber ? Number(text) : text];
  });
  const unknown = values.find(([key]) => !Object.hasOwn(datasetFilterSchema.shape, key));
  if (unknown !== undefined) {
    throw new UsageError(
      `--filter has no ${unknown[0]}: there are ${Object.keys(datasetFilterSchema.shape).join(', ')}.`,
    );
  }
  return { filter: parseFields(datasetFilterSchema, Object.fromEntries(values), (field) => `--filter ${field}`) };
}
