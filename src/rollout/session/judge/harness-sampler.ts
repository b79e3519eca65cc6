import type { Usage } from '../../../contract/chat.ts';
import { messageOf } from '../../../contract/errors.ts';
import { META } from '../../../contract/names.ts';
import { type Judgement, type JudgeRequest, judgeRequestSchema } from '../../../contract/service/judge.ts';
import { REPEATED_USAGE, toHarnessUsage } from '../../../contract/service/usage.ts';
import type { SampleRequest, Sampler } from '../../../environment/client/environment-client.ts';
import type { ChatModel } from '../../../models/gateway/chat-model.ts';
import { derivedSeed } from '../../../models/gateway/reference/derived-seed.ts';
import type { TurnRecorder } from '../../../store/traces/event-recorder.ts';
import { judge, judgeKey } from './judge.ts';
import type { RecordedVerdicts } from './recorded-verdicts.ts';

/** Most questions of an environment's own code in one run, not counting those for a judge. */
const MAX_SAMPLES = 100;
/** Takes the place of the task's id when the seeds of votes are derived. */
const VOTES = 'judge';
/** Characters of the material that the trace keeps. */
const MATERIAL_KEPT = 4_000;

export interface HarnessSamplerOptions {
  /** Default model for judges; undefined if none is configured. */
  readonly judgeModel: string | undefined;
  /** True if the run names the model. Its choice takes precedence over that of a question. */
  readonly isChosenByRun: boolean;
  readonly seed: number | null;
  /** @throws BoundaryError boundary `model` for a name that cannot be used. */
  createModel(name: string): ChatModel;
  readonly recorder: TurnRecorder;
  /** Aborted when the session ends. */
  readonly signal: AbortSignal;
  /** Recorded verdicts, which answer equal questions without a judge. */
  readonly recorded?: Pick<RecordedVerdicts, 'take'> | undefined;
}

/**
 * Answers the questions that one session's environment asks a model: for verdicts in its evaluation, and for its own
 * code.
 */
export function createHarnessSampler(options: HarnessSamplerOptions): Sampler {
  let samples = 0;
  return async (request) => {
    if (request.purpose === 'judge') return await answerJudge(request, options);
    samples += 1;
    if (samples > MAX_SAMPLES)
      throw new Error(`The environment asked a model ${MAX_SAMPLES} times in this run already`);
    return await answerSample(request, options);
  };
}

async function answerJudge(request: SampleRequest, options: HarnessSamplerOptions) {
  const { seed, recorder, recorded } = options;
  if (!request.isEvaluating) throw new Error('Only the evaluation of a scenario can ask a judge');
  const question = readQuestion(request);
  const name = nameOf(question, options);
  const known = recorded?.take(question, name);
  if (known !== undefined) {
    const { model, ...verdict } = known;
    recorder.record({ ...toEvent(question, model, verdict), usage: REPEATED_USAGE, duration_ms: 0, repeated: true });
    return { text: JSON.stringify(verdict), model };
  }
  if (name === undefined) return { text: JSON.stringify({ no_judge: NO_JUDGE }), model: '' };
  const startedAt = performance.now();
  const paid: Usage[] = [];
  const toCost = () => ({
    usage: toHarnessUsage(paid),
    duration_ms: Math.round(performance.now() - startedAt),
  });
  try {
    const { usages: _usages, ...verdict } = await judge({
      request: question,
      createModel: () => options.createModel(name),
      seedOf: (vote) => (seed === null ? undefined : derivedSeed(seed, VOTES, vote)),
      onUsage: (usage) => paid.push(usage),
      signal: AbortSignal.any([options.signal, request.signal]),
    });
    recorder.record({ ...toEvent(question, name, verdict), ...toCost() });
    return { text: JSON.stringify(verdict), model: name };
  } catch (thrown) {
    const message = messageOf(thrown);
    recorder.record({ type: 'judge.failed', ...toAsked(question, name), message, ...toCost() });
    throw thrown;
  }
}

function toEvent(question: JudgeRequest, model: string, { score, agreement, votes }: Judgement) {
  const { scale } = question;
  return { type: 'judge.responded' as const, ...toAsked(question, model), scale, score, agreement, votes };
}

function toAsked(question: JudgeRequest, model: string) {
  const { rubric, material } = question;
  return { model, key: judgeKey(question, model), rubric, material: material.slice(0, MATERIAL_KEPT) };
}

async function answerSample(request: SampleRequest, options: HarnessSamplerOptions) {
  const { system, messages, maxTokens } = request;
  const name = options.judgeModel;
  if (name === undefined)
    throw new Error('The environment asks a model, but none is configured: set models.judge in the configuration');
  const { recorder } = options;
  const startedAt = performance.now();
  const usages: Usage[] = [];
  const { message, usage } = await options.createModel(name).respond({
    messages: [
      ...(system === null ? [] : [{ role: 'system' as const, content: system }]),
      ...messages.map(({ role, content }) =>
        role === 'user' ? { role, content } : { role, content, reasoning: null, tool_calls: [] },
      ),
    ],
    tools: [],
    sampling: { max_tokens: maxTokens },
    signal: AbortSignal.any([options.signal, request.signal]),
  });
  usages.push(usage);
  const duration_ms = Math.round(performance.now() - startedAt);
  recorder.record({ type: 'sample.responded', model: name, usage: toHarnessUsage(usages), duration_ms });
  return { text: message.content ?? '', model: name };
}

function nameOf({ model }: JudgeRequest, { judgeModel, isChosenByRun }: HarnessSamplerOptions): string | undefined {
  return isChosenByRun ? judgeModel : (model ?? judgeModel);
}

const NO_JUDGE =
  'The evaluation asks a judge, and there is no model for judges: set models.judge in the configuration, or judge_model in the request';

function readQuestion({ meta, messages }: SampleRequest): JudgeRequest {
  const asked = meta[META.judge];
  const material = messages.map(({ content }) => content).join('\n');
  const parsed = judgeRequestSchema.safeParse({ ...(typeof asked === 'object' ? asked : {}), material });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`_meta["${META.judge}"] is no question for a judge: ${issue?.path.join('.')}: ${issue?.message}`);
}
