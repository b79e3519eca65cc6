import { hostname } from 'node:os';
import { join } from 'node:path';
import { type JsonObject, parseObject } from '../../contract/json.ts';
import type { Checkpoint } from '../../contract/model.ts';
import type { NewTrainingEvent } from '../../contract/service/training.ts';
import { toChildVariables } from '../../environment/process/child-variables.ts';
import { makeFolder } from '../../support/runtime/make-folder.ts';
import {
  ProviderAway,
  ProviderRefused,
  type ProviderReport,
  type TrainingProvider,
  type TrainingWork,
} from './provider.ts';
import {
  endProgram,
  endRest,
  type ProgramPlace,
  readErrors,
  readOutput,
  startProgram,
  stateOf,
} from './training-program.ts';
import { numberIn, numbersIn, shortText, textIn } from './wire-values.ts';

export interface CommandOptions {
  readonly name: string;
  readonly command: readonly string[];
  /** Variables that are added to those of this process. Secrets of this process are left out. */
  readonly env: Readonly<Record<string, string>>;
  /** The key of the gateway at a base URL; undefined when no gateway has this URL. */
  readonly gatewayAt: (baseUrl: string) => string | undefined;
  readonly gateway?: string | undefined;
  readonly deploy?: TrainingProvider['deploy'] | undefined;
}

/** Number of times that a lost program is started again. */
const MAX_RESTARTS = 3;
/** Largest number of bytes that one poll reads. */
const WINDOW_BYTES = 4 * 1024 * 1024;
const MAX_ERRORS = 2_000;

/**
 * A trainer that is the user's own program (contract section 9, "Providers"). It gets the files in `PROCTOR_TRAIN_FILE`
 * and `PROCTOR_VALIDATION_FILE`, and reports progress and results as JSON lines on its standard output.
 */
export function createCommandProvider(options: CommandOptions): TrainingProvider {
  return {
    name: options.name,
    kind: 'command',
    methods: ['supervised', 'dpo'],
    minimumLines: 1,
    maximumBytes: Number.POSITIVE_INFINITY,
    gateway: options.gateway,
    // The program runs on this machine, so polls are cheap.
    shortestPollMs: 1_000,
    format: (method) => (method === 'dpo' ? 'openai-dpo' : 'openai'),
    async upload() {},
    async submit(work) {
      checkHost(options, work);
      if (work.remote._attempt === undefined) await work.keep({ _attempt: '1', _offset: '0', host: hostname() });
      await startMissing(options, work);
    },
    async find(work) {
      if (work.remote._attempt === undefined) return false;
      checkHost(options, work);
      return (await stateOf(placeOf(work))).state !== 'lost';
    },
    poll: (work) => poll(options, work),
    async cancel(work) {
      checkHost(options, work);
      await work.keep({ _cancelled: 'true' });
      await endProgram(placeOf(work));
    },
    ...(options.deploy === undefined ? {} : { deploy: options.deploy }),
  };
}

function placeOf({ directory, remote }: TrainingWork): ProgramPlace {
  return { directory, attempt: Number(remote._attempt ?? 1) };
}

/** Checks that the job runs on this machine: its program stays on the machine that started it. */
function checkHost({ name }: CommandOptions, { remote }: TrainingWork): void {
  if (remote.host === undefined || remote.host === hostname()) return;
  throw new ProviderAway(
    `The program of ${name} runs on the machine ${remote.host}: a service or worker of this database has to run there.`,
  );
}

async function startMissing(options: CommandOptions, work: TrainingWork): Promise<void> {
  const place = placeOf(work);
  if ((await stateOf(place)).state !== 'lost') return;
  const output = join(work.directory, 'output');
  await makeFolder(output);
  await work.stillMine();
  const env = toChildVariables(process.env, {
    PROCTOR_TRAIN_FILE: work.trainFile,
    ...(work.validationFile === undefined ? {} : { PROCTOR_VALIDATION_FILE: work.validationFile }),
    PROCTOR_BASE_MODEL: work.base,
    PROCTOR_OUTPUT: output,
    PROCTOR_METHOD: work.method,
    PROCTOR_HYPERPARAMETERS: JSON.stringify(work.hyperparameters),
    PROCTOR_MODEL_NAME: work.name,
    ...options.env,
  });
  await startProgram(place, options.command, { cwd: output, env });
}

async function poll(options: CommandOptions, work: TrainingWork): Promise<ProviderReport> {
  checkHost(options, work);
  const place = placeOf(work);
  // The state is read before the output, so that the output of an ended program is complete.
  const found = await stateOf(place);
  const said = await readSaid(place, work, found.state !== 'running');
  const isRead = said.isComplete;
  if (found.state === 'running' || (found.state === 'ended' && !isRead)) return { status: 'training', ...said.report };
  if (found.state === 'ended') {
    await endRest(place);
    return await toEnd(options, place, found.code, said);
  }
  if (work.remote._cancelled !== undefined) return { status: 'cancelled', ...said.report };
  const restarts = place.attempt;
  if (restarts > MAX_RESTARTS) {
    const message = `The program was lost ${restarts} times, and is not started again. The end of its errors: ${await readErrors(place, MAX_ERRORS)}`;
    return { status: 'failed', ...said.report, error: { code: 'trainer_lost', message } };
  }
  const message = `The program is gone without an exit code: it is started again in the same directory (${restarts} of ${MAX_RESTARTS}).`;
  await work.keep({ _attempt: String(place.attempt + 1), _offset: '0' });
  await startMissing(options, work);
  const events: NewTrainingEvent[] = [...(said.report.events ?? []), { type: 'log', level: 'warning', message }];
  return { status: 'training', ...said.report, events, remote: { ...said.report.remote, _offset: '0' } };
}

interface OutputReport {
  readonly report: Omit<ProviderReport, 'status'>;
  readonly model: string | undefined;
  readonly baseUrl: string | undefined;
  /** True when all present output was read. */
  readonly isComplete: boolean;
}

async function toEnd(
  { name, gatewayAt }: CommandOptions,
  place: ProgramPlace,
  code: number,
  { report, model, baseUrl }: OutputReport,
): Promise<ProviderReport> {
  if (code !== 0) {
    const errors = shortText(await readErrors(place, MAX_ERRORS)) || 'nothing';
    const why = code > 128 ? `was ended by signal ${code - 128}` : `ended with exit code ${code}`;
    const message = `The program of ${name} ${why}. The end of its errors: ${errors}`;
    return { status: 'failed', ...report, error: { code: 'trainer_failed', message } };
  }
  if (model === undefined) return { status: 'succeeded', ...report };
  const gateway = baseUrl === undefined ? undefined : gatewayAt(baseUrl);
  if (baseUrl !== undefined && gateway === undefined) {
    throw new ProviderRefused(
      'gateway_missing',
      `The program of ${name} made ${model}, which answers at ${baseUrl}: no gateway of the configuration has that url. Add one to "gateways", and register the model with "proctor models add".`,
    );
  }
  return { status: 'succeeded', ...report, target: model, gateway };
}

/** Reads the new lines, and combines them with the earlier reports about the model. */
async function readSaid(place: ProgramPlace, { remote }: TrainingWork, hasEnded: boolean): Promise<OutputReport> {
  const from = Number(remote._offset ?? 0);
  const window = await readOutput(place, from, WINDOW_BYTES).catch(() => Buffer.alloc(0));
  const isFull = window.length === WINDOW_BYTES;
  const end = hasEnded && !isFull ? window.length : window.lastIndexOf(0x0a) + 1;
  // A line that fills the whole window is not an event, so it is skipped.
  const used = end === 0 && isFull ? window.length : end;
  const read = new OutputReader();
  for (const line of window.subarray(0, end).toString('utf8').split('\n')) read.take(line);
  const model = read.model ?? remote._model;
  const baseUrl = read.model === undefined ? remote._base_url : read.baseUrl;
  return {
    model,
    baseUrl,
    isComplete: !isFull,
    report: {
      events: read.events,
      ...(read.progress === undefined ? {} : { progress: read.progress }),
      checkpoints: read.checkpoints,
      remote: {
        _offset: String(from + used),
        ...(model === undefined ? {} : { _model: model }),
        ...(baseUrl === undefined ? {} : { _base_url: baseUrl }),
      },
    },
  };
}

/** Largest number of lines that become events per poll. The file has all lines. */
const MAX_LINES = 1_000;

class OutputReader {
  readonly events: NewTrainingEvent[] = [];
  readonly checkpoints: Checkpoint[] = [];
  progress: { done: number; total: number } | undefined;
  model: string | undefined;
  baseUrl: string | undefined;

  take(line: string): void {
    if (line.trim() === '') return;
    const value = line.startsWith('{') ? parseObject(line) : undefined;
    if (value === undefined || !this.#takeEvent(value)) this.#log(line);
  }

  /** @returns false for a line that is not an event. */
  #takeEvent(value: JsonObject): boolean {
    const step = numberIn(value, 'step');
    const name = textIn(value, 'name');
    switch (value.event) {
      case 'progress': {
        const [done, total] = [numberIn(value, 'progress'), numberIn(value, 'total')];
        if (done === undefined || total === undefined) return false;
        this.progress = { done, total };
        return true;
      }
      case 'metrics': {
        if (step === undefined) return false;
        const { step: _, ...metrics } = numbersIn(value);
        if (this.events.length < MAX_LINES) this.events.push({ type: 'metrics', step, metrics });
        return true;
      }
      case 'checkpoint': {
        if (step === undefined || !Number.isInteger(step) || step < 0 || name === undefined) return false;
        const { step: _, ...metrics } = numbersIn(value);
        if (name.length <= 512) this.checkpoints.push({ step, target: name, metrics });
        return true;
      }
      case 'model': {
        if (name === undefined || name.length > 512) return false;
        this.model = name;
        this.baseUrl = textIn(value, 'base_url');
        return true;
      }
      default:
        return false;
    }
  }

  #log(line: string): void {
    if (this.events.length < MAX_LINES) this.events.push({ type: 'log', level: 'info', message: shortText(line) });
  }
}
