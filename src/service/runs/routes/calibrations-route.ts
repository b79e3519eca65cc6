import { ApiError } from '../../../contract/errors.ts';
import { type CalibrationEvent, calibrationRequestSchema } from '../../../contract/service/judge.ts';
import { EVALUATION_LIMITS } from '../../../contract/task.ts';
import { calibrateJudge } from '../../../evaluation/evaluations/report/calibrate-judge.ts';
import { checkLabelledCases } from '../../../evaluation/evaluations/report/labelled-cases.ts';
import type { ReferenceContext } from '../../../models/gateway/chat-model.ts';
import type { Models } from '../../../models/gateway/create-model.ts';
import { isReferenceModel } from '../../../models/gateway/reference/reference-models.ts';
import { accountOf } from '../../../support/http/api/api-keys.ts';
import { asField } from '../../../support/http/api/errors.ts';
import { defineRoute, type Route } from '../../../support/http/api/route.ts';
import type { WorkStreams } from '../../../support/http/work-streams.ts';
import { WorkPlaces } from './work-places.ts';

export interface CalibrationsRouteOptions {
  readonly models: Models;
  readonly works: WorkStreams;
}

/** Compares a judge with labels of people. The answer has the figures; nothing is stored. */
export function createCalibrationsRoute({ models, works }: CalibrationsRouteOptions): Route {
  const places = new WorkPlaces({ most: 2, underWay: 'A judge is being calibrated', atOnce: 'calibrates 2 judges' });
  return defineRoute({
    method: 'POST',
    path: '/v1/calibrations',
    summary: 'Compare the verdicts of a judge with labels of people: the answer has progress, and last the figures',
    access: 'key-or-browser',
    request: calibrationRequestSchema,
    largeBodyBytes: EVALUATION_LIMITS.bodyBytes,
    about: {
      contentType: 'text/event-stream',
      errors: ['missing_required_parameter', 'model_not_found', 'quota_exceeded', 'capacity_exceeded', 'model_failed'],
    },
    async handle({ requestId, body: { model: asked, cases, votes, concurrency }, caller, signal: gone }) {
      const name = await judgeName(models, asked);
      checkLabelledCases(cases);
      const place = places.take(accountOf(caller));
      return await works.stream<CalibrationEvent>({ requestId, signal: gone }, async (send, signal) => {
        using _place = place;
        const calibration = await calibrateJudge({
          cases,
          createModel: () => models.create(name, NO_CONTEXT),
          votes,
          concurrency,
          signal,
          onJudged(done) {
            // The next send reports the failure.
            send({ type: 'progress', done, cases: cases.length }).catch(() => {});
          },
        });
        await send({ type: 'calibration', model: name, calibration });
      });
    },
  });
}

/** @throws ApiError missing_required_parameter, invalid_parameter, model_not_found */
async function judgeName(models: Models, asked: string | undefined): Promise<string> {
  const name = asked ?? models.harness.judge;
  if (name === undefined) {
    const message =
      'No model judges: name one with model (--model of the command), or set models.judge in the configuration of the service.';
    throw new ApiError('missing_required_parameter', message, { param: 'model' });
  }
  if (isReferenceModel(name)) {
    const message = `${name} reads nothing, so that it cannot be compared: name a model of a gateway.`;
    throw new ApiError('invalid_parameter', message, { param: 'model' });
  }
  await asField('model', () => models.check(name));
  return name;
}

/** A judge sees nothing of a scenario. */
const NO_CONTEXT: ReferenceContext = {
  seed: null,
  scenario: '',
  answerSchema: () => null,
  solution: () => Promise.reject(new Error('A judge has no solution')),
};
