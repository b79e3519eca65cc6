import { type Command, Option } from 'commander';
import { datasetFormatSchema, datasetSelectSchema } from '../../contract/service/dataset.ts';
import { collect, parseNumber, parseServiceUrl, wholeNumber } from '../base/options.ts';
import { build } from './dataset/build.ts';
import { show } from './dataset/show.ts';
import { validate } from './dataset/validate.ts';

const { shape } = datasetSelectSchema;

export function addDatasetCommand(program: Command): void {
  const dataset = program
    .command('dataset')
    .description('Make training files from successful runs, and check them.')
    .addHelpText(
      'after',
      `
Examples:
  $ proctor dataset build --evaluation last --out clerk
  $ proctor dataset build --filter env_name=counter --filter model=gpt-4.1-mini --format trl --out clerk
  $ proctor dataset build --filter env_name=counter --held-out counter/count_to --choose best --out clerk
  $ proctor dataset validate clerk
  $ proctor dataset validate others.jsonl --format openai
  $ proctor dataset show clerk`,
    );
  addBuildCommand(dataset);
  dataset
    .command('validate <path>')
    .description(
      'Check the files of a dataset, or one file, as the trainer of its format would; exit code 1 for an error.',
    )
    .addOption(
      new Option('--format <format>', 'of a file (default: that of its dataset.json)').choices(
        datasetFormatSchema.options,
      ),
    )
    .option('--max-problems <count>', 'problems that are told of each file (default 100)', wholeNumber(1))
    .option('--json', 'print {"files": [{"file", "lines", "bytes", "errors", "warnings", "problems"}]}')
    .action(validate);
  dataset
    .command('show <folder>')
    .description('Say from what a dataset was made, by which rule, and how many traces each step kept.')
    .option('--json', 'print dataset.json')
    .action(show);
}

function addBuildCommand(dataset: Command): void {
  dataset
    .command('build')
    .description('Write a dataset of traces into a folder.')
    .requiredOption('--out <folder>', 'a new folder, or that of a dataset, which is replaced')
    .option(
      '--evaluation <evaluation>',
      'traces of this evaluation: its id, its name, or last; may be repeated',
      collect,
    )
    .option(
      '--filter <name=value>',
      'or traces like that: env_name, scenario_name, model, origin, status, min_reward, max_reward, since, until, metadata.<key>; may be repeated',
      collect,
    )
    .addOption(
      new Option('--format <format>', 'what the lines are written for')
        .choices(datasetFormatSchema.options)
        .default('openai'),
    )
    .option('--min-reward <reward>', 'traces with at least this reward (default 1)', parseNumber)
    .option('--max-per-task <count>', 'traces of one task (default 4)', wholeNumber(1, 1_000))
    .addOption(
      new Option('--choose <rule>', 'which of a task (default shortest)').choices(shape.choose.unwrap().options),
    )
    .option(
      '--seed <seed>',
      'draws the split, and what --choose random takes (default 0)',
      wholeNumber(Number.MIN_SAFE_INTEGER),
    )
    .option('--validation <share>', 'of the tasks, for validation, 0 to 0.5 (default 0.1)', parseNumber)
    .option('--held-out <taskset>', 'a taskset, or a file of one, that nothing is trained on; may be repeated', collect)
    .option('--split <split>', 'tasks of this split alone: train, validation; may be repeated', collect)
    .option('--include-reference', 'traces of proctor/oracle and other reference models too')
    .addOption(
      new Option('--reasoning <rule>', 'what models thought (default keep)').choices(shape.reasoning.unwrap().options),
    )
    .option('--service <url>', 'traces of this run service, with the key of PROCTOR_API_KEY', parseServiceUrl)
    .option('--json', 'print dataset.json')
    .action(build);
}
