import type { Command } from 'commander';
import type { RegisteredModel } from '../../contract/model.ts';
import { UsageError } from '../base/failure.ts';
import { parseServiceUrl, wholeNumber } from '../base/options.ts';
import { openPlace } from '../base/place.ts';
import { note, print, printJson, printTable } from '../base/terminal.ts';

export function addModelsCommand(program: Command): void {
  const models = program
    .command('models')
    .description('Name models and their checkpoints. Every --model option takes such a name.')
    .addHelpText(
      'after',
      `
Examples:
  $ proctor models add clerk --target ft:gpt-4.1-mini:org:clerk:9ABel2dg --base gpt-4.1-mini
  $ proctor models add clerk --checkpoint 88=ft:gpt-4.1-mini:org:clerk:9ABel2dg:ckpt-step-88
  $ proctor models head clerk 88
  $ proctor run counter count_to --arg target=3 --model clerk@88
  $ proctor models list --service http://127.0.0.1:8320`,
    );
  addPlaceOptions(models.command('list').description('List registered models, in order of name.')).action(list);
  addPlaceOptions(models.command('show <name>').description('Show a registered model with its checkpoints.')).action(
    show,
  );
  addPlaceOptions(
    models
      .command('add <name>')
      .description('Register a model; or, with --checkpoint alone, give one that is registered more checkpoints.')
      .option('--target <model>', "the provider's name, which a gateway is asked for")
      .option('--base <model>', 'the model that it was trained from')
      .option('--gateway <key>', 'a key of "gateways" in the configuration (default: by pattern of the target)')
      .option('--checkpoint <step=model>', 'a checkpoint; may be repeated', collectCheckpoint),
  ).action(add);
  addPlaceOptions(
    models.command('head <name> <step>').description('Say which checkpoint the bare name means; none: its target.'),
  ).action(setHead);
  addPlaceOptions(
    models.command('remove <name>').description('Forget a name; traces and evaluations keep it, with whom it meant.'),
  ).action(remove);
}

interface ModelsOptions {
  readonly service?: string;
  readonly json?: boolean;
}

interface AddOptions extends ModelsOptions {
  readonly target?: string;
  readonly base?: string;
  readonly gateway?: string;
  readonly checkpoint?: readonly GivenCheckpoint[];
}

interface GivenCheckpoint {
  readonly step: number;
  readonly target: string;
}

function addPlaceOptions(command: Command): Command {
  return command
    .option('--service <url>', 'those of this run service, with the key of PROCTOR_API_KEY', parseServiceUrl)
    .option('--json', 'print JSON, as the routes of /v1/models/registered answer');
}

function collectCheckpoint(text: string, earlier: readonly GivenCheckpoint[] = []): readonly GivenCheckpoint[] {
  const [, step, target] = /^(\d{1,15})=(.+)$/s.exec(text) ?? [];
  if (step === undefined || target === undefined) {
    throw new UsageError(
      `--checkpoint takes step=model, such as 88=ft:base:ckpt-step-88, not ${JSON.stringify(text)}.`,
    );
  }
  return [...earlier, { step: wholeNumber(0)(step), target }];
}

async function list(options: ModelsOptions): Promise<void> {
  await using place = await openPlace(options);
  const found = await place.client.models.registered.list();
  if (options.json) return printJson(found);
  if (found.data.length === 0)
    return note('No model is registered: "proctor models add <name> --target <model>" does.');
  printTable([
    ['NAME', 'TARGET', 'BASE', 'HEAD', 'CHECKPOINTS', 'GATEWAY', 'JOB'],
    ...found.data.map((model) => [
      model.name,
      model.target,
      model.base ?? '-',
      model.head === null ? '-' : String(model.head),
      String(model.checkpoints.length),
      model.gateway ?? '-',
      model.training_job ?? '-',
    ]),
  ]);
}

async function show(name: string, options: ModelsOptions): Promise<void> {
  await using place = await openPlace(options);
  tell(await place.client.models.registered.get(name), options);
}

async function add(name: string, { target, base, gateway, checkpoint = [], ...options }: AddOptions): Promise<void> {
  await using place = await openPlace(options);
  const isMore = target === undefined && base === undefined && gateway === undefined && checkpoint.length > 0;
  if (isMore) return tell(await place.client.models.registered.change(name, { checkpoints: [...checkpoint] }), options);
  if (target === undefined) throw new UsageError("--target is required: the provider's name of the model.");
  const model = { name, target, base: base ?? null, gateway: gateway ?? null, checkpoints: [...checkpoint] };
  tell(await place.client.models.registered.add(model), options);
}

async function setHead(name: string, step: string, options: ModelsOptions): Promise<void> {
  await using place = await openPlace(options);
  if (step !== 'none' && !/^\d{1,15}$/.test(step)) {
    throw new UsageError(`The step has to be a whole number from 0, or "none", not ${JSON.stringify(step)}.`);
  }
  tell(await place.client.models.registered.change(name, { head: step === 'none' ? null : Number(step) }), options);
}

async function remove(name: string, options: ModelsOptions): Promise<void> {
  await using place = await openPlace(options);
  await place.client.models.registered.remove(name);
  if (options.json) return printJson({ name, removed: true });
  print(`Removed ${name}.`);
}

function tell(model: RegisteredModel, { json }: ModelsOptions): void {
  if (json) {
    printJson(model);
    return;
  }
  print(`${model.name}: ${model.target}${model.base === null ? '' : `, trained from ${model.base}`}`);
  if (model.gateway !== null) print(`Gateway: ${model.gateway}`);
  if (model.training_job !== null) print(`Training job: ${model.training_job}`);
  if (model.checkpoints.length === 0) return;
  printTable([
    ['', 'STEP', 'TARGET', 'METRICS'],
    ...model.checkpoints.map(({ step, target, metrics }) => [
      step === model.head ? 'head' : '',
      String(step),
      target,
      Object.entries(metrics)
        .map(([metric, value]) => `${metric} ${value}`)
        .join(', '),
    ]),
  ]);
}
