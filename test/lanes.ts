import { REFEREE_TESTS } from './without-referees.ts';

/**
 * Tests of the slow lane (`npm run test:slow`): browsers, installs of whole projects, many processes, faults in real
 * deployments, programs of others. All other tests are the fast lane (`npm test`). Without a lane, all tests run.
 */
export const SLOW_TESTS: readonly string[] = [
  ...REFEREE_TESTS,
  'environments/browser/*.test.ts',
  'environments/workspace/*.test.ts',
  'test/rollout/agents/killed.test.ts',
  'test/rollout/agents/real-agents.test.ts',
  'test/rollout/agents/real-loops.test.ts',
  'test/service/bridges/openenv-processes.test.ts',
  'test/service/bridges/ors-processes.test.ts',
  'test/browser/**/*.test.ts',
  'test/cli/agents-doctor.test.ts',
  'test/cli/built-package.test.ts',
  'test/cli/chat-user.test.ts',
  'test/cli/check-strict.test.ts',
  'test/cli/demo.test.ts',
  'test/cli/doctor.test.ts',
  'test/cli/eval/at-service.test.ts',
  'test/cli/eval/attempts.test.ts',
  'test/cli/eval/evaluate.test.ts',
  'test/cli/eval/gate.test.ts',
  'test/cli/eval/interrupted.test.ts',
  'test/cli/eval/refusals.test.ts',
  'test/cli/eval/shortfall.test.ts',
  'test/cli/last.test.ts',
  'test/cli/models-and-datasets.test.ts',
  'test/cli/old-node.test.ts',
  'test/cli/replay.test.ts',
  'test/cli/run-at-service.test.ts',
  'test/cli/run-settings.test.ts',
  'test/cli/serve-newer.test.ts',
  'test/cli/train.test.ts',
  'test/cli/typed-command.test.ts',
  'test/cli/worker.test.ts',
  'test/environment/dev/reload.test.ts',
  'test/docs/deploy.test.ts',
  'test/docs/eval-gate.test.ts',
  'test/docs/evaluations.test.ts',
  'test/docs/readme.test.ts',
  'test/docs/training.test.ts',
  'test/evaluation/evaluations/gateway-limits.test.ts',
  'test/faults/*.test.ts',
  'test/interop/*.test.ts',
  'test/postgres.test.ts',
  'test/environment/process/orphans.test.ts',
  'test/environment/process/start-cache.test.ts',
  'test/store/queue/bullmq-queue.test.ts',
  'test/store/queue/faults.test.ts',
  'test/store/queue/processes.test.ts',
  'test/service/runs/key-limits.test.ts',
  'test/service/runs/evaluation-models.test.ts',
  'test/service/runs/users-cut-off.test.ts',
  'test/service/chat/load.test.ts',
  'test/service/chat/processes.test.ts',
  'test/service/chat/sigterm.test.ts',
  'test/rollout/seats/forwarding-processes.test.ts',
  'test/rollout/seats/restart.test.ts',
  'test/support/telemetry/reproducibility.test.ts',
  'test/templates/*.test.ts',
  'test/store/traces/processes.test.ts',
  'test/training/imitation/loop.test.ts',
  'test/training/jobs/job-over-http.test.ts',
  'test/training/jobs/killed.test.ts',
  'test/training/providers/*.test.ts',
  'test/evaluation/checks/check.test.ts',
  'test/evaluation/checks/conversations.test.ts',
  'test/evaluation/checks/forger-routes.test.ts',
  'test/evaluation/checks/secrets.test.ts',
  'test/evaluation/checks/unsound.test.ts',
  'test/environment/composition/processes.test.ts',
];

export type Lane = 'fast' | 'slow' | undefined;

/** The lane of this run, by `TEST_LANE`. @throws Error for any other value. */
export function laneOf(value: string | undefined): Lane {
  if (value === undefined || value === '' || value === 'fast' || value === 'slow') return value || undefined;
  throw new Error(`TEST_LANE is ${JSON.stringify(value)}: it takes fast or slow, and without it all tests run`);
}
