import { type Command, Option } from 'commander';
import type { EvaluationDetail } from '../../contract/evaluation.ts';
import { isGradedOutcome, type Outcome, outcomeSchema } from '../../contract/outcome.ts';
import { UsageError } from '../failure.ts';
import { parseServiceUrl } from '../options.ts';
import { colors, note, print, printJson } from '../terminal.ts';
import { grouped } from './figures.ts';
import { findEvaluation } from './find-evaluation.ts';
import { addFollowOptions, type FollowOptions, followEvaluation } from './follow-command.ts';
import { openEvaluations, type PlaceOptions, placeWords } from './open-evaluations.ts';
import { missingOutcomes } from './outcome-words.ts';

/** Outcomes that can be run again: those without a reward. */
const WITHOUT_REWARD: readonly Outcome[] = outcomeSchema.options.filter((outcome) => !isGradedOutcome(outcome));

export function addControlCommands(command: Command): void {
  withPlace(
    command.command('pause <evaluation>').description('Begin no more attempts; those that run go on to their end.'),
  )
    .option('--json', 'print the evaluation')
    .action((named: string, options: ControlOptions) => change('pause', named, options));
  withPlace(command.command('cancel <evaluation>').description('End it for good: attempts that run are cancelled too.'))
    .option('--json', 'print the evaluation')
    .action((named: string, options: ControlOptions) => change('cancel', named, options));
  addFollowOptions(
    withPlace(command.command('resume <evaluation>').description('Go on with one that was paused, stopped or killed.')),
  ).action(resume);
  addFollowOptions(
    withPlace(
      command
        .command('rerun <evaluation>')
        .description('Run attempts without a reward again; what has a reward never is.')
        .addOption(
          new Option('--outcome <outcome...>', 'attempts that ended so (default: all without a reward)').choices(
            WITHOUT_REWARD,
          ),
        ),
    ),
  ).action(rerun);
}

function withPlace(command: Command): Command {
  return command
    .option('--service <url>', 'evaluations of this run service, with the key of PROCTOR_API_KEY', parseServiceUrl)
    .addHelpText('after', '\nThe evaluation is an id, the beginning of one, a name, or "last".');
}

interface ControlOptions extends PlaceOptions {
  readonly json?: boolean;
}

async function change(verb: 'pause' | 'cancel', named: string, { json, ...place }: ControlOptions): Promise<void> {
  await using evaluations = await openEvaluations(place);
  const evaluation = await evaluations.client[verb](await findEvaluation(named, evaluations));
  if (json) return printJson(evaluation);
  tellState(evaluation);
  const { evaluation_id } = evaluation;
  if (verb === 'pause')
    note(colors.dim(`npx proctor eval resume ${evaluation_id}${placeWords(evaluations)} goes on with it.`));
}

function tellState({ evaluation_id, status, progress: { done, total, running, outcomes } }: EvaluationDetail): void {
  if (status === 'cancelled') {
    const left = `${grouped(done - (outcomes.cancelled ?? 0))} of ${grouped(total)} attempts had ended before`;
    print(`${evaluation_id} is cancelled: ${left}${running > 0 ? `, ${grouped(running)} are being stopped` : ''}`);
    return;
  }
  const rest = running > 0 ? `, ${grouped(running)} running` : '';
  print(`${evaluation_id} is ${status}: ${grouped(done)} of ${grouped(total)} attempts are done${rest}`);
}

/** One that runs already goes on too: whoever worked on it may be gone. */
async function resume(named: string, options: FollowOptions): Promise<void> {
  await followEvaluation(options, async (evaluations) => {
    const evaluation = await evaluations.client.get(await findEvaluation(named, evaluations));
    return await evaluations.client.resume(evaluation.evaluation_id);
  });
}

interface RerunOptions extends FollowOptions {
  readonly outcome?: readonly Outcome[];
}

async function rerun(named: string, { outcome, ...options }: RerunOptions): Promise<void> {
  await followEvaluation(options, async (evaluations) => {
    const evaluation = await evaluations.client.get(await findEvaluation(named, evaluations));
    const there = new Set(evaluation.reports.flatMap(({ outcomes }) => missingOutcomes(outcomes)));
    const wanted = (outcome ?? WITHOUT_REWARD).filter((each) => there.has(each));
    if (outcome === undefined && wanted.length === 1 && wanted[0] === 'over_budget') {
      throw new UsageError(
        'What is left is over the budget: give "proctor eval" with the same options a higher --budget.',
      );
    }
    if (wanted.length === 0) {
      const which = outcome === undefined ? 'without a reward' : `that ended ${outcome.join(' or ')}`;
      throw new UsageError(`${evaluation.evaluation_id} has no attempt ${which}: there is nothing to run again.`);
    }
    return await evaluations.client.rerun(evaluation.evaluation_id, wanted);
  });
}
