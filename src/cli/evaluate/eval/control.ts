import { type Command, Option } from 'commander';
import type { EvaluationDetail } from '../../../contract/service/evaluation.ts';
import { isGradedOutcome, missingOutcomes, type Outcome, outcomeSchema } from '../../../contract/service/outcome.ts';
import { grouped } from '../../../support/text/figures.ts';
import { UsageError } from '../../base/failure.ts';
import { evaluationsAt, findEvaluation, placeWords } from '../../base/find-evaluation.ts';
import { parseServiceUrl } from '../../base/options.ts';
import { openPlace, type PlaceOptions } from '../../base/place.ts';
import { colors, note, print, printJson } from '../../base/terminal.ts';
import { addFollowOptions, type FollowOptions, followEvaluation } from './follow-command.ts';

/** Outcomes without a reward. Only such attempts can be run again. */
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

interface ControlOptions extends Pick<PlaceOptions, 'service'> {
  readonly json?: boolean;
}

async function change(verb: 'pause' | 'cancel', named: string, { json, service }: ControlOptions): Promise<void> {
  await using place = await openPlace({ service });
  const evaluations = evaluationsAt(place);
  const evaluation = await evaluations.client[verb](await findEvaluation(named, evaluations));
  if (json) return printJson(evaluation);
  tellState(evaluation);
  const { evaluation_id } = evaluation;
  if (verb === 'pause')
    note(colors.dim(`npx proctor eval resume ${evaluation_id}${placeWords(evaluations)} goes on with it.`));
}

function tellState({ evaluation_id, status, progress }: EvaluationDetail): void {
  const { done, total, running, queued = 0, outcomes } = progress;
  if (status === 'cancelled') {
    const left = `${grouped(done - (outcomes.cancelled ?? 0))} of ${grouped(total)} attempts had ended before`;
    print(
      `${evaluation_id} is cancelled: ${left}${running + queued > 0 ? `, ${grouped(running + queued)} are being stopped` : ''}`,
    );
    return;
  }
  const rest = `${running > 0 ? `, ${grouped(running)} running` : ''}${queued > 0 ? `, ${grouped(queued)} queued` : ''}`;
  print(`${evaluation_id} is ${status}: ${grouped(done)} of ${grouped(total)} attempts are done${rest}`);
}

/** Resumes an evaluation. A running one continues too, since the process that worked on it may be gone. */
async function resume(named: string, options: FollowOptions): Promise<void> {
  await followEvaluation(options, async (place) => {
    const evaluations = evaluationsAt(place);
    return await evaluations.client.resume(await findEvaluation(named, evaluations));
  });
}

interface RerunOptions extends FollowOptions {
  readonly outcome?: readonly Outcome[];
}

async function rerun(named: string, { outcome, ...options }: RerunOptions): Promise<void> {
  await followEvaluation(options, async (place) => {
    const evaluations = evaluationsAt(place);
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
