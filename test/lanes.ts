import { REFEREE_TESTS } from './without-referees.ts';

/**
 * Tests of the slow lane (`npm run test:slow`): browsers, installs of whole projects, many processes, faults in real
 * deployments, programs of others. All other tests are the fast lane (`npm test`). Without a lane, all tests run.
 */
export const SLOW_TESTS: readonly string[] = [
  ...REFEREE_TESTS,
  'environments/browser/*.test.ts',
  'environments/workspace/*.test.ts',
  'test/agents/killed.test.ts',
  'test/agents/real-agents.test.ts',
  'test/agents/real-loops.test.ts',
  'test/bridges/openenv-processes.test.ts',
  'test/bridges/ors-processes.test.ts',
  'test/browser/**/*.test.ts',
  'test/cli/built-package.test.ts',
  'test/cli/demo.test.ts',
  'test/cli/doctor.test.ts',
  'test/cli/eval/at-service.test.ts',
  'test/cli/eval/evaluate.test.ts',
  'test/cli/eval/gate.test.ts',
  'test/cli/eval/interrupted.test.ts',
  'test/cli/eval/refusals.test.ts',
  'test/cli/models-and-datasets.test.ts',
  'test/cli/old-node.test.ts',
  'test/cli/replay.test.ts',
  'test/cli/run-at-service.test.ts',
  'test/cli/worker.test.ts',
  'test/dev/reload.test.ts',
  'test/docs/deploy.test.ts',
  'test/docs/eval-gate.test.ts',
  'test/docs/evaluations.test.ts',
  'test/docs/readme.test.ts',
  'test/docs/training.test.ts',
  'test/evaluations/gateway-limits.test.ts',
  'test/faults/*.test.ts',
  'test/interop/*.test.ts',
  'test/postgres.test.ts',
  'test/process/orphans.test.ts',
  'test/process/start-cache.test.ts',
  'test/queue/faults.test.ts',
  'test/queue/processes.test.ts',
  'test/run-service/key-limits.test.ts',
  'test/run-service/evaluation-models.test.ts',
  'test/run-service/users-cut-off.test.ts',
  'test/scenario-server/load.test.ts',
  'test/scenario-server/processes.test.ts',
  'test/scenario-server/sigterm.test.ts',
  'test/seats/forwarding-processes.test.ts',
  'test/seats/restart.test.ts',
  'test/telemetry/reproducibility.test.ts',
  'test/templates/*.test.ts',
  'test/trace/processes.test.ts',
  'test/training/imitation/loop.test.ts',
  'test/training/jobs/killed.test.ts',
  'test/training/providers/*.test.ts',
  'test/trust/check.test.ts',
  'test/trust/conversations.test.ts',
  'test/trust/forger-routes.test.ts',
  'test/trust/unsound.test.ts',
  'test/upstream/processes.test.ts',
];

export type Lane = 'fast' | 'slow' | undefined;

/** The lane of this run, by `TEST_LANE`. @throws Error for any other value. */
export function laneOf(value: string | undefined): Lane {
  if (value === undefined || value === '' || value === 'fast' || value === 'slow') return value || undefined;
  throw new Error(`TEST_LANE is ${JSON.stringify(value)}: it takes fast or slow, and without it all tests run`);
}
