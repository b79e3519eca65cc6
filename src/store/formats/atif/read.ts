import { readableText } from '../../../contract/content-text.ts';
import { isJsonObject } from '../../../contract/json.ts';
import type { ContentPart, PromptMessage } from '../../../contract/scenario.ts';
import type { Step, ToolResultRecord } from '../../../contract/service/trace.ts';
import { withBytes } from '../addresses.ts';
import {
  EXTENSION,
  fromExtension,
  messageExtensionSchema,
  readExtension,
  stepExtensionSchema,
  type TraceExtension,
  traceExtensionSchema,
} from '../extension.ts';
import { nameOf, toForeignTrace } from '../foreign.ts';
import { FormatError, type ImportedTrace, type ReadContext, toTime } from '../imported-trace.ts';
import { ReadConversation } from '../read-conversation.ts';
import { toTools } from '../tool-definitions.ts';
import { loseOthers } from '../unknown-fields.ts';
import { addBranches } from './read-branches.ts';
import { addResults, callsOf, observationsOf, partsOf, toReadStep } from './read-step.ts';
import { type AtifStep, parseTrajectory, type Trajectory } from './shapes.ts';
import { countFinalMetrics, loseFieldsOf, loseFieldsOfStep } from './unread-fields.ts';

/** Path of the steps of the main conversation. */
const STEPS = 'steps[]';

export function isAtif(given: unknown): boolean {
  return isJsonObject(given) && typeof given.schema_version === 'string' && given.schema_version.startsWith('ATIF');
}

/** The trace of one trajectory, of any version 1.x. @throws FormatError for an invalid one. */
export function readTrajectory(given: unknown, context: ReadContext): ImportedTrace {
  const version = isJsonObject(given) ? given.schema_version : undefined;
  if (typeof version !== 'string' || !/^ATIF-v1\.\d{1,3}$/.test(version)) {
    const got = JSON.stringify(version)?.slice(0, 100) ?? 'nothing';
    throw new FormatError(`schema_version is ${got}; ATIF-v1.0 to ATIF-v1.8, and later ones of version 1, are read.`);
  }
  const trajectory = parseTrajectory(given);
  const extension = readExtension(traceExtensionSchema, trajectory.extra, 'extra', context);
  return extension === undefined ? readForeign(trajectory, context) : readOwn(trajectory, extension, context);
}

function readOwn(trajectory: Trajectory, extension: TraceExtension, context: ReadContext): ImportedTrace {
  const messages: { turn: number; message: PromptMessage }[] = [];
  const steps: Step[] = [];
  let outside: ToolResultRecord[] | undefined;
  const branches = (trajectory.subagent_trajectories ?? []).flatMap((each) => parseTrajectory(each).steps);
  for (const step of [...trajectory.steps.slice(1), ...branches]) {
    const own = readExtension(stepExtensionSchema.or(messageExtensionSchema), step.extra, 'steps[].extra', context);
    if (own !== undefined && 'usage' in own) {
      const { content: told, reasoning, refusal, extra: sent, ...fields } = own;
      const message = { role: 'assistant' as const, content: told, reasoning, tool_calls: callsOf(step) };
      const optional = {
        ...(refusal === undefined ? {} : { refusal }),
        ...(sent === undefined ? {} : { extra: sent }),
      };
      const read = { ...fields, message: { ...message, ...optional }, tool_results: [] as ToolResultRecord[] };
      addResults(read, step, STEPS, context);
      steps.push(read);
    } else if (own !== undefined) {
      const kept = own.message === undefined ? undefined : withBytes(own.message, context.bytesAt);
      messages.push({ turn: own.turn, message: kept ?? toMessage(step, context) });
    } else if (step.source === 'agent' && step.llm_call_count === 0) {
      const read = {
        message: { role: 'assistant' as const, content: null, reasoning: null, tool_calls: callsOf(step) },
      };
      const results: ToolResultRecord[] = [];
      addResults({ ...read, tool_results: results }, step, STEPS, context);
      outside = results;
    }
  }
  steps.sort((one, other) => one.step - other.step);
  const told = { tools: toTools(trajectory.agent.tool_definitions), steps, messages };
  const all = outside === undefined ? told : { ...told, tool_calls: outside };
  const prompt = extension.turns.length === 0 ? { prompt: messages.map(({ message }) => message) } : {};
  return { ...fromExtension(extension, all, context), ...prompt };
}

function readForeign(trajectory: Trajectory, context: ReadContext): ImportedTrace {
  const { losses } = context;
  const conversation = new ReadConversation();
  loseFieldsOf(trajectory, '', losses);
  loseOthers(trajectory.extra, [EXTENSION, 'task', 'env_id'], 'extra', losses);
  for (const step of trajectory.steps) addForeignStep(conversation, step, trajectory, context);
  countFinalMetrics(conversation.steps, trajectory, '', losses);
  addBranches(conversation, trajectory, context);
  const { agent } = trajectory;
  return toForeignTrace(
    conversation,
    {
      format: 'atif',
      env: nameIn(trajectory.extra, 'task') ?? nameIn(trajectory.extra, 'env_id') ?? agent.name,
      model: agent.model_name ?? trajectory.steps.find(({ model_name }) => model_name)?.model_name ?? undefined,
      id: trajectory.trajectory_id ?? trajectory.session_id ?? undefined,
      tools: toTools(agent.tool_definitions),
      metadata: agent.version ? { source_agent: nameOf(`${agent.name} ${agent.version}`) } : {},
    },
    context,
  );
}

function addForeignStep(
  conversation: ReadConversation,
  step: AtifStep,
  { agent }: Trajectory,
  context: ReadContext,
): void {
  loseFieldsOfStep(step, STEPS, agent.model_name, context.losses);
  const at = toTime(step.timestamp) ?? null;
  const isFirst = conversation.system === null && conversation.turns.length === 0;
  let loose: ContentPart[][];
  if (step.source === 'agent') {
    loose = addResults(conversation.addStep(toReadStep(step, STEPS, context)), step, STEPS, context);
  } else {
    const told =
      isFirst && step.source === 'system'
        ? readableText(partsOf(step.message, `${STEPS}.message`, context))
        : undefined;
    if (told === undefined) conversation.say(toMessage(step, context), at);
    else conversation.system = told === '' ? null : told;
    loose = observationsOf(step, STEPS, context);
  }
  for (const parts of loose) conversation.say({ role: 'user', content: parts }, at);
}

function toMessage(step: AtifStep, context: ReadContext): PromptMessage {
  const role = step.source === 'agent' ? 'assistant' : step.source;
  return {
    role,
    content: typeof step.message === 'string' ? step.message : partsOf(step.message, `${STEPS}.message`, context),
  };
}

function nameIn(given: unknown, name: string): string | undefined {
  const value = isJsonObject(given) ? given[name] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}
