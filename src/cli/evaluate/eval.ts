import type { Command } from 'commander';
import { MAX_STEPS } from '../../contract/names.ts';
import { DEFAULT_CONCURRENCY } from '../../contract/service/evaluation.ts';
import { EVALUATION_LIMITS } from '../../contract/task.ts';
import { UsageError } from '../base/failure.ts';
import { collect, parseNumber, parseSampling, parseServiceUrl, wholeNumber } from '../base/options.ts';
import { addAttemptsCommand } from './eval/attempts.ts';
import { begin } from './eval/begin.ts';
import { parseBudget } from './eval/budget.ts';
import { addCompareCommand } from './eval/compare.ts';
import { addControlCommands } from './eval/control.ts';
import type { EvalOptions } from './eval/eval-options.ts';
import { addFollowOptions, followEvaluation } from './eval/follow-command.ts';
import { addGateCommand } from './eval/gate.ts';
import { addListCommand } from './eval/list.ts';
import { addShowCommand } from './eval/show.ts';

export function addEvalCommand(program: Command): void {
  // Options after a sub-command belong to it.
  const command = program
    .enablePositionalOptions()
    .command('eval [taskset]')
    .description('Evaluate models on a taskset, compare them, and decide in CI whether they are good enough.')
    .enablePositionalOptions()
    .hook('preSubcommand', refuseEarlyOptions)
    .option('--model <model>', 'a model of the gateway, or a reference model; may be repeated', collect)
    .option(
      '--agent <agent>',
      'an agent that plays with each model: claude, codex, gemini, opencode, acp:<command>, or one of proctor.config.ts',
    )
    .option('--user-model <model>', 'plays the simulated users (default: of the scenario, else models.user)')
    .option('--judge-model <model>', 'judges (default: of the question, else models.judge)')
    .option(
      '-n, --attempts <count>',
      'attempts of each task with each model (default 1)',
      wholeNumber(1, EVALUATION_LIMITS.attempts),
    )
    .option(
      '--concurrency <count>',
      `attempts at once, over all models and workers (default ${DEFAULT_CONCURRENCY})`,
      wholeNumber(1, 10_000),
    )
    .option('--budget <amount>', 'ends it there: 5usd, 2Mtok; both by giving it twice', parseBudget)
    .option(
      '--only <what>',
      'failed, errored, tag=a, ids=a,b, first=N, sample=N:seed, shard=i/n; may be repeated',
      collect,
    )
    .option('--name <name>', 'a name to find it by; part of what makes it another evaluation')
    .option('--new', 'begin another one, whether there is one of these settings or not')
    .option(
      '--seed <seed>',
      'each attempt gets a seed from it, the same for every model',
      wholeNumber(Number.MIN_SAFE_INTEGER),
    )
    .option(
      '--max-steps <count>',
      'responses of tasks that do not say it, 1 to 500 (default 100)',
      wholeNumber(1, MAX_STEPS.maximum),
    )
    .option(
      '--timeout <seconds>',
      'time of tasks that do not say it, 1 to 86,400 (default 3600)',
      wholeNumber(1, 86_400),
    )
    .option('--temperature <number>', 'forwarded to the model', parseNumber)
    .option('--sampling <json>', 'further parameters for the model, as one JSON object: {"top_p":0.9}', parseSampling)
    .option('--pass-threshold <reward>', 'the reward from which an attempt has passed', parseNumber, 1)
    .option('--metadata <name=value>', 'text to find it by; may be repeated', collect)
    .option('--service <url>', 'evaluate at this run service, with the key of PROCTOR_API_KEY', parseServiceUrl);
  addFollowOptions(command).addHelpText('after', HELP).action(evaluate);
  addListCommand(command);
  addShowCommand(command);
  addAttemptsCommand(command);
  addCompareCommand(command);
  addGateCommand(command);
  addControlCommands(command);
}

const HELP = `
The taskset is the path of a file (.jsonl, .json, .yaml, .yml, .ts, .mts, .js, .mjs), or the name of one in tasksets/. Tasks
that scenarios declare are <environment>/<scenario>, or <environment> for all of its scenarios. A file wins over names. A
taskset that is named like a sub-command is reached as ./list, or by its path, tasksets/list.jsonl.

The same command goes on with the evaluation that it began: after Ctrl-C, a crash, or with a larger -n, which adds attempts.
Ctrl-C pauses it, wherever it is worked on; with --detach the services and workers of its database go on.
What makes it another one: tasks, models (of users and judges too), agent, name, seed, sampling, steps, time and threshold. --new begins another one anyway.

--only errored runs the attempts without a reward again; --only failed begins a new evaluation of the tasks below the
threshold. The others choose tasks, and several of them hold together.

With --service the evaluation is that of a run service, executed by its workers; the tasks of a file are sent along.

Exit code: 0 when it ended; 1 when it was stopped or cancelled, or no attempt has a reward; 2 when the command or a task is wrong, and nothing ran; 4 when too few attempts of a model have a reward (--min-coverage).

Examples:
  $ proctor eval retail/task --model gpt-5-mini --model gpt-5 -n 4 --budget 5usd
  $ proctor eval tasks/nightly.jsonl --model gpt-5-mini --only tag=smoke --name nightly
  $ proctor eval counter --model proctor/oracle --only first=20
  $ proctor eval retail/task --agent codex --model gpt-5
  $ proctor eval tasks/nightly.jsonl --model gpt-5-mini --service https://proctor.example --json
  $ proctor eval gate last --min-score 0.8`;

/** Rejects an option before a sub-command, which would otherwise be ignored. */
function refuseEarlyOptions(command: Command, sub: Command): void {
  const early = command.options.find((option) => command.getOptionValueSource(option.attributeName()) === 'cli');
  if (early === undefined) return;
  throw new UsageError(
    `${early.long} stands before ${sub.name()}: put it behind, as in "proctor eval ${sub.name()} ... ${early.long}".`,
  );
}

async function evaluate(taskset: string | undefined, options: EvalOptions): Promise<void> {
  await followEvaluation(options, (place, view, stop) => begin(taskset, options, { place, view, stop }));
}
