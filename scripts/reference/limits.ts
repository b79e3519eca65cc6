import { z } from 'zod';
import { MAX_INPUT_DEPTH } from '../../src/contract/json-depth.ts';
import { MAX_STEPS, SHUTDOWN_GRACE_MS } from '../../src/contract/names.ts';
import { evaluationRequestSchema } from '../../src/contract/service/evaluation.ts';
import { MAX_JUDGE_MATERIAL } from '../../src/contract/service/judge.ts';
import { METADATA_LIMITS, runRequestSchema } from '../../src/contract/service/run.ts';
import { SIZE_LIMITS } from '../../src/contract/size-limits.ts';
import { EVALUATION_LIMITS } from '../../src/contract/task.ts';
import { MAX_MESSAGE_LENGTH } from '../../src/environment/process/environment-process.ts';
import { DEFAULT_IDLE_TIMEOUT_MS } from '../../src/models/gateway/silence-limit.ts';
import { MAX_ARGUMENT_BYTES } from '../../src/rollout/seats/seat-agent.ts';
import { ROLLOUT_LIMITS } from '../../src/rollout/session/limits.ts';
import { TURN_LIMIT_MS } from '../../src/service/chat/chat-session.ts';
import { SESSION_DEFAULTS } from '../../src/service/chat/option-ranges.ts';
import { MAX_WAIT_SECONDS } from '../../src/service/traces/wait-for-end.ts';
import { LIST_LIMIT } from '../../src/store/database/newest-first.ts';
import { IMPORT_LIMITS } from '../../src/store/formats/import-limits.ts';
import { MAX_RERUNS } from '../../src/store/traces/rows/attempt-rows.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../../src/support/http/api/body.ts';
import { grouped } from '../../src/support/text/figures.ts';
import { toTable } from './markdown.ts';

interface Limit {
  readonly name: string;
  readonly value: string;
  readonly change: string;
  /** The error or effect where it is passed. */
  readonly beyond: string;
}

const FIXED = 'fixed';
const REFUSED = '`invalid_parameter`';
const TOO_LARGE = '`request_too_large`';

/** The page of the limits, as Markdown. Its values are those that the code uses. */
export function limitsReference(): string {
  const sections = Object.entries(limitsByPlace()).map(
    ([place, limits]) =>
      `## ${place}\n\n${toTable(
        ['Limit', 'Value', 'Change it by', 'Beyond it'],
        limits.map(({ name, value, change, beyond }) => [name, value, change, beyond]),
      )}`,
  );
  return `${[HEAD, ...sections].join('\n\n')}\n`;
}

const HEAD = `# Limits

<!-- Made by "npm run docs:limits" from the code. Change the limit there, not this page. -->

The limits that you can meet, with the values of this version. \`fixed\` means that no setting changes a limit. Limits of memory, output and
starts of an environment are in [deployment](../deployment.md#limits-of-an-environment), those of its HTTP server in [transports](../transports.md).`;

function limitsByPlace(): Readonly<Record<string, readonly Limit[]>> {
  return { ...requests(), ...runs(), ...evaluations(), ...others() };
}

function requests(): Readonly<Record<string, readonly Limit[]>> {
  const { keys, keyCharacters, valueCharacters } = METADATA_LIMITS;
  return {
    'Requests to a service': [
      { name: 'body', value: sizeText(DEFAULT_BODY_LIMIT_BYTES), change: FIXED, beyond: TOO_LARGE },
      {
        name: 'body of a new evaluation',
        value: sizeText(EVALUATION_LIMITS.bodyBytes),
        change: FIXED,
        beyond: TOO_LARGE,
      },
      { name: 'depth of JSON', value: `${MAX_INPUT_DEPTH} levels`, change: FIXED, beyond: REFUSED },
      ...Object.entries(SIZE_LIMITS).map(([field, bytes]) => ({
        name: `\`${field}\`, as JSON`,
        value: sizeText(bytes),
        change: FIXED,
        beyond: TOO_LARGE,
      })),
      {
        name: '`metadata`',
        value: `${keys} keys of ${keyCharacters} characters, values of ${valueCharacters}`,
        change: FIXED,
        beyond: REFUSED,
      },
      {
        name: 'entries in a page of a list of evaluations, jobs or checks',
        value: `${LIST_LIMIT.default}, at most ${LIST_LIMIT.maximum}`,
        change: '`limit`',
        beyond: `${REFUSED}; follow \`next_cursor\``,
      },
      {
        name: 'wait for an end (`Prefer: wait`, `?wait=`)',
        value: `${MAX_WAIT_SECONDS} s`,
        change: 'a shorter one in the request',
        beyond: 'a longer `Prefer` is taken as this one; a longer `wait` is `invalid_parameter`',
      },
    ],
  };
}

function runs(): Readonly<Record<string, readonly Limit[]>> {
  const { results, ...times } = ROLLOUT_LIMITS;
  return {
    Runs: [
      {
        name: '`max_steps`',
        value: `${MAX_STEPS.default}, at most ${MAX_STEPS.maximum}`,
        change: 'the request, the task, `--max-steps`',
        beyond: 'the run is evaluated as it stands: outcome `limit`',
      },
      {
        name: '`timeout_seconds`',
        value: rangeText(runRequestSchema.shape.timeout_seconds),
        change: 'the request, the task, `--timeout`',
        beyond: 'the run is stopped; a seat is evaluated as it stands',
      },
      { name: 'setup', value: secondsText(times.setupMs), change: FIXED, beyond: 'the run fails' },
      {
        name: 'one tool call',
        value: secondsText(times.toolCallMs),
        change: FIXED,
        beyond: 'the agent is told; the turn goes on',
      },
      { name: 'evaluation', value: secondsText(times.evaluateMs), change: FIXED, beyond: 'the run fails' },
      {
        name: 'result of one tool call',
        value: sizeText(results.resultBytes),
        change: FIXED,
        beyond: 'the result is cut',
      },
      {
        name: 'tool results of one run',
        value: sizeText(results.traceBytes),
        change: FIXED,
        beyond: 'results are cut',
      },
      {
        name: 'one message of an environment',
        value: sizeText(MAX_MESSAGE_LENGTH),
        change: FIXED,
        beyond: 'the run fails',
      },
      {
        name: 'silence of a gateway',
        value: secondsText(DEFAULT_IDLE_TIMEOUT_MS),
        change: FIXED,
        beyond: '`model_timeout`',
      },
      {
        name: 'material of a judge',
        value: `${grouped(MAX_JUDGE_MATERIAL)} characters`,
        change: FIXED,
        beyond: 'the question fails',
      },
      {
        name: 'arguments of all calls of a seat',
        value: sizeText(MAX_ARGUMENT_BYTES),
        change: FIXED,
        beyond: 'the call is not run, and the agent is told',
      },
    ],
  };
}

function evaluations(): Readonly<Record<string, readonly Limit[]>> {
  const { tasks, attempts, attemptsInAll } = EVALUATION_LIMITS;
  return {
    Evaluations: [
      { name: 'tasks', value: grouped(tasks), change: FIXED, beyond: REFUSED },
      { name: 'attempts of a task with a model', value: grouped(attempts), change: FIXED, beyond: REFUSED },
      { name: 'attempts in all', value: grouped(attemptsInAll), change: FIXED, beyond: REFUSED },
      {
        name: '`concurrency`',
        value: rangeText(evaluationRequestSchema.shape.concurrency),
        change: 'the request, `--concurrency`',
        beyond: REFUSED,
      },
      {
        name: 'reruns of an attempt without a reward',
        value: String(MAX_RERUNS),
        change: FIXED,
        beyond: 'the outcome stays; `rerun` begins again',
      },
    ],
  };
}

function others(): Readonly<Record<string, readonly Limit[]>> {
  const { fileBytes, unpackedBytes, depth, samples } = IMPORT_LIMITS;
  return {
    'Chat sessions': [
      {
        name: 'sessions of a server',
        value: grouped(SESSION_DEFAULTS.maxSessions),
        change: '`maxSessions` of `serveScenarios`',
        beyond: '`capacity_exceeded`',
      },
      {
        name: 'time without a turn',
        value: secondsText(SESSION_DEFAULTS.sessionTtlMs),
        change: '`sessionTtlMs` of `serveScenarios`',
        beyond: 'the session expires and is evaluated',
      },
      {
        name: 'one turn',
        value: `${secondsText(TURN_LIMIT_MS.plain)}, streamed ${secondsText(TURN_LIMIT_MS.streamed)}`,
        change: '`stream`',
        beyond: '`turn_timeout`',
      },
    ],
    Imports: [
      { name: 'file', value: sizeText(fileBytes), change: FIXED, beyond: 'the file is refused' },
      { name: 'file, unpacked', value: sizeText(unpackedBytes), change: FIXED, beyond: 'the file is refused' },
      { name: 'depth of JSON', value: `${depth} levels`, change: FIXED, beyond: 'the file is refused' },
      { name: 'traces of a file', value: grouped(samples), change: FIXED, beyond: 'the file is refused' },
    ],
    Shutdown: [
      {
        name: 'time to stop on SIGTERM, a service',
        value: secondsText(SHUTDOWN_GRACE_MS.service),
        change: '`shutdownGraceMs` of `startRunService` and `serveScenarios`',
        beyond: 'what still runs is cut',
      },
      {
        name: 'the same, an environment',
        value: secondsText(SHUTDOWN_GRACE_MS.environment),
        change: FIXED,
        beyond: 'it is killed',
      },
    ],
  };
}

/** The default and the largest number that a field takes. */
function rangeText(field: z.ZodType): string {
  const { default: usual, minimum, maximum } = z.toJSONSchema(field, { io: 'input' });
  return `${grouped(Number(usual))}; ${grouped(Number(minimum))} to ${grouped(Number(maximum))}`;
}

function sizeText(bytes: number): string {
  const [size, unit] = bytes < 1_024 ** 2 ? [bytes / 1_024, 'KiB'] : [bytes / 1_024 ** 2, 'MiB'];
  return `${grouped(size)} ${unit}`;
}

function secondsText(ms: number): string {
  return `${grouped(ms / 1_000)} s`;
}
