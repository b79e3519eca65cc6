import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { ApiError } from '../../contract/errors.ts';
import { CALIBRATED_VOTES, type Calibration, type LabelledCase } from '../../contract/service/judge.ts';
import { readLabelledCases } from '../../evaluation/evaluations/report/labelled-cases.ts';
import { padToWidth } from '../../support/text/display-width.ts';
import { countText, meanText, moneyText, shareText, withInterval } from '../../support/text/figures.ts';
import { SilentFailure, UsageError } from '../base/failure.ts';
import { parseServiceUrl, wholeNumber } from '../base/options.ts';
import { openPlace } from '../base/place.ts';
import { listenForStop } from '../base/signals.ts';
import { colors, note, print, printable, printJson } from '../base/terminal.ts';

export function addJudgeCommand(program: Command): void {
  const judge = program
    .command('judge')
    .description('Measure how well a judge model agrees with people.')
    .addHelpText('after', '\nExamples:\n  $ proctor judge calibrate cases.jsonl --model gpt-5-mini');
  judge
    .command('calibrate <file>')
    .description('Compare the verdicts of a judge with labels of people, with 1, 3 and 5 votes.')
    .option('--model <model>', 'the judge (default: models.judge of the configuration, or of the service)')
    .addOption(
      new Option('--votes <count>', 'the most votes of a case').choices(CALIBRATED_VOTES.map(String)).default('5'),
    )
    .option('--concurrency <count>', 'cases that are judged at a time', wholeNumber(1, 100), 4)
    .option('--service <url>', 'ask the models of this run service, with the key of PROCTOR_API_KEY', parseServiceUrl)
    .option('--json', 'print {"cases", "by_votes": [{"votes", "agreement", "kappa", ...}], "failed"?}')
    .addHelpText(
      'after',
      `
The file holds a case a line: {"id", "rubric", "material", "label", "scale"?, "context"?}. The label is true or false, or with
a scale {"min", "max"} a number. Each case is judged with five votes, or with as many as --votes says; fewer are the first of
them. A case that cannot be judged is named, and counts in no figure. Nothing is stored: usage never counts these calls.
With --service the cases are sent to the service, at most 10,000, and its gateways pay; Ctrl-C ends the work there too.

Exit code: 0; 1 when a case could not be judged, and after Ctrl-C; 2 when the command or the file is wrong.

Examples:
  $ proctor judge calibrate cases.jsonl --model gpt-5-mini
  $ proctor judge calibrate cases.jsonl --json > calibration.json
  $ PROCTOR_API_KEY=... proctor judge calibrate cases.jsonl --service https://proctor.example`,
    )
    .action(calibrate);
}

interface CalibrateOptions {
  readonly model?: string;
  readonly votes: string;
  readonly concurrency: number;
  readonly service?: string;
  readonly json?: boolean;
}

async function calibrate(file: string, options: CalibrateOptions): Promise<void> {
  const { model, votes, concurrency, json = false } = options;
  const cases = await readCases(file);
  using stop = listenForStop();
  await using place = await openPlace({ service: options.service });
  const request = {
    model,
    cases: [...cases],
    votes: CALIBRATED_VOTES.find((each) => String(each) === votes),
    concurrency,
  };
  for await (const event of place.client.judges.calibrate(request, { signal: stop.signal })) {
    if (event.type === 'progress') {
      note(`${event.done} of ${event.cases} judged`);
      continue;
    }
    const { model: name, calibration } = event;
    if (json) printJson(calibration);
    else printCalibration(name, calibration);
    if (calibration.failed !== undefined) throw new SilentFailure();
  }
}

/** @throws UsageError for a file that cannot be read; ApiError that says what is wrong with it. */
async function readCases(file: string): Promise<readonly LabelledCase[]> {
  try {
    return readLabelledCases(await readFile(file, 'utf8'), file);
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    const { code = 'unknown' } = cause as NodeJS.ErrnoException;
    throw new UsageError(`${file} cannot be read (${code})`, { cause });
  }
}

function printCalibration(name: string, { cases, by_votes, failed = [] }: Calibration): void {
  print(`${colors.bold(printable(name))} on ${countText(cases, 'case')}`);
  for (const { votes, agreement, kappa, kappa_ci95, confusion, cost_usd, disagreements } of by_votes) {
    const cost = cost_usd === null ? '' : `  ${moneyText(cost_usd)}`;
    const agreed = `agreement ${shareText(agreement)}  kappa ${withInterval(kappa, kappa_ci95)}`;
    print(`${padToWidth(countText(votes, 'vote'), 7)}  ${agreed}${cost}`);
    const { both_yes, both_no, label_yes_only, judge_yes_only } = confusion;
    print(
      `         both yes ${both_yes}, both no ${both_no}, label alone ${label_yes_only}, judge alone ${judge_yes_only}`,
    );
    for (const { id, label, score, reasons } of votes === by_votes.at(-1)?.votes ? disagreements : []) {
      print(`         ${printable(id)}: label ${label}, judge ${meanText(score)}: ${printable(reasons[0] ?? '')}`);
    }
  }
  for (const { id, message } of failed) print(`${printable(id)} could not be judged: ${printable(message)}`);
}
