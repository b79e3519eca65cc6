import type { ErrorBody } from '../../../contract/error-shapes.ts';
import type { ErrorCode } from '../../../contract/errors.ts';
import {
  type CheckEvent,
  type CheckReport,
  type CheckRequest,
  checkRequestSchema,
} from '../../../contract/service/check.ts';
import type { Catalogue } from '../../../environment/client/catalogue.ts';
import { checkEnvironments, type EnvironmentToCheck } from '../../../evaluation/checks/check-environments.ts';
import { toCheckUrl } from '../../../evaluation/checks/reports/read-report.ts';
import { saveReport } from '../../../evaluation/checks/reports/save-report.ts';
import type { Database } from '../../../store/database/database.ts';
import type { TraceStore } from '../../../store/traces/trace-store.ts';
import { accountOf } from '../../../support/http/api/api-keys.ts';
import { asField } from '../../../support/http/api/errors.ts';
import { defineRoute, type Route } from '../../../support/http/api/route.ts';
import { type HttpLog, toErrorReply } from '../../../support/http/request-log.ts';
import type { SendEvent, WorkStreams } from '../../../support/http/work-streams.ts';
import type { Secret } from '../../../support/redaction/redactor.ts';
import { WorkPlaces } from './work-places.ts';

export interface CreateCheckRouteOptions {
  readonly database: Database;
  readonly store: Pick<TraceStore, 'redactor'>;
  readonly catalogue: Pick<Catalogue, 'target'>;
  readonly works: WorkStreams;
  readonly logger: HttpLog;
  /** Address of the pages, without a slash at the end. */
  readonly appUrl: string;
  /** Keys that no process of an environment may hold. */
  readonly operatorKeys: readonly Secret[];
  /** Names of environments in commands that show a finding again, where these differ. */
  readonly typedNames: ReadonlyMap<string, string>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Milliseconds between two progress events. */
const TELL_EVERY_MS = 250;

/** Checks environments of the service. The report and its traces belong to the account of the caller. */
export function createCreateCheckRoute(options: CreateCheckRouteOptions): Route {
  const { catalogue, works, typedNames } = options;
  // A check starts many processes.
  const places = new WorkPlaces({ most: 2, underWay: 'A check is running', atOnce: 'runs 2 checks' });
  return defineRoute({
    method: 'POST',
    path: '/v1/checks',
    summary: 'Check environments of the service: the answer has progress, each finding, and last the report',
    access: 'key-or-browser',
    request: checkRequestSchema,
    about: {
      contentType: 'text/event-stream',
      errors: ['missing_required_parameter', 'env_not_found', 'quota_exceeded', 'capacity_exceeded'],
    },
    async handle({ requestId, body, caller, signal: gone }) {
      const account = accountOf(caller);
      const names = [...new Set(body.environments)];
      const environments = await asField('environments', () =>
        Promise.all(
          names.map(async (name) => ({ name, typedName: typedNames.get(name), target: await catalogue.target(name) })),
        ),
      );
      const place = places.take(account);
      const check = async (send: SendEvent<CheckEvent>, signal: AbortSignal) => {
        using _place = place;
        await sendCheck(options, { requestId, account, body, environments }, send, signal);
      };
      return await works.stream<CheckEvent>({ requestId, signal: gone }, check);
    },
  });
}

interface CheckToSend {
  readonly requestId: string;
  readonly account: string;
  readonly body: CheckRequest;
  readonly environments: readonly EnvironmentToCheck[];
}

async function sendCheck(
  options: CreateCheckRouteOptions,
  { requestId, account, body, environments }: CheckToSend,
  send: SendEvent<CheckEvent>,
  signal: AbortSignal,
): Promise<void> {
  const { database, store, logger } = options;
  const { redactor } = store;
  const faults: unknown[] = [];
  let toldAt = Number.NEGATIVE_INFINITY;
  const report = await checkEnvironments(environments, {
    tasks: body.tasks,
    seed: body.seed,
    passThreshold: body.pass_threshold,
    limitMs: toMs(body.timeout_seconds),
    maxMs: toMs(body.max_time_seconds),
    only: { scenario: body.scenario, task: body.task },
    keys: options.operatorKeys,
    account,
    store: { database, redactor },
    signal,
    onUnkept: (error) => void faults.push(error),
    onProgress(progress) {
      if (performance.now() - toldAt < TELL_EVERY_MS) return;
      toldAt = performance.now();
      // The next send reports the failure.
      send({ type: 'progress', ...redactor.json(progress) }).catch(() => {});
    },
    async onChecked({ name: environment, findings }) {
      for (const finding of findings) await send({ type: 'finding', environment, finding: redactor.json(finding) });
    },
  });
  const stored = await storeReport(options, account, report).catch((error: unknown) => {
    faults.push(error);
    return { check_id: null, check_url: null };
  });
  const unstored = faults.map((fault) => {
    const { error } = toErrorReply(fault, requestId, logger).body as ErrorBody;
    return { code: error.code as ErrorCode, message: error.message }; // `toErrorReply` writes no other codes.
  });
  await send({ type: 'report', report: redactor.json(report), ...stored, unstored });
}

async function storeReport(
  { database, store: { redactor }, appUrl, now }: CreateCheckRouteOptions,
  account: string,
  report: CheckReport,
) {
  const checkId = await saveReport({ database, redactor, account, now }, report);
  return { check_id: checkId, check_url: toCheckUrl(appUrl, checkId) };
}

function toMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1_000;
}
