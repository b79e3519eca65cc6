import { onTestFinished } from 'vitest';
import {
  type AttemptGuards,
  createAttemptGuards,
  type GuardTiming,
} from '../../../src/evaluation/evaluations/attempt-guards.ts';
import type { ModelResponse } from '../../../src/models/gateway/chat-model.ts';
import { createModels, type Models } from '../../../src/models/gateway/create-model.ts';
import type { ConfiguredGateway } from '../../../src/models/gateway/model-config.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { toRequest } from '../../models/gateway/gateway-model.ts';
import { SILENT } from './rows.ts';

/** Times of the tests: as those of a worker, but shorter. */
const SHORT: GuardTiming = {
  syncMs: 100,
  hold: { probeEveryMs: 100, probes: 600 },
  lookMs: 10,
};

export interface TestWorker {
  readonly models: Models;
  readonly guards: AttemptGuards;
  /** The calls of one attempt, one after the other. */
  attempt(evaluationId: string, calls: number, options?: AttemptOptions): Promise<readonly ModelResponse[]>;
}

interface AttemptOptions {
  readonly model?: string;
  readonly signal?: AbortSignal;
  readonly sampling?: Record<string, number>;
  readonly onWait?: () => () => void;
}

let workers = 0;
let traces = 0;

/** A worker's part in the model calls of attempts, until the test ends. */
export function startTestWorker(
  database: Database,
  gateway: Omit<ConfiguredGateway, 'pattern'>,
  timing: GuardTiming = SHORT,
): TestWorker {
  const models = createModels({ gateways: [{ pattern: '*', ...gateway }] });
  workers += 1;
  const guards = createAttemptGuards({ database, worker: `worker-${workers}`, logger: SILENT, timing });
  onTestFinished(() => guards.close());
  return {
    models,
    guards,
    attempt: async (evaluationId, calls, { model = 'm-1', signal, sampling = {}, onWait } = {}) => {
      traces += 1;
      const found = models.gatewayOf(model);
      if (found === undefined) throw new Error('It has no gateway');
      const guard = await guards.begin({ evaluationId, traceId: `trace-${traces}` });
      try {
        const context = {
          seed: null,
          scenario: 's',
          answerSchema: () => null,
          solution: () => Promise.reject(new Error('none')),
        };
        const chat = models.create(model, context, guard.of({ model, gateway: found }));
        const responses: ModelResponse[] = [];
        while (responses.length < calls) {
          const request = toRequest({ sampling, onWait, ...(signal && { signal }) });
          responses.push(await chat.respond(request));
        }
        return responses;
      } finally {
        guard.end();
      }
    },
  };
}
