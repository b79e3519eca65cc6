import { readableText } from '../../../contract/content-text.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { ContentPart } from '../../../contract/scenario.ts';
import type { Step } from '../../../contract/service/trace.ts';
import { nameOf } from '../foreign.ts';
import type { ReadContext } from '../imported-trace.ts';
import type { Losses } from '../losses.ts';
import type { ReadConversation } from '../read-conversation.ts';
import { toTools } from '../tool-definitions.ts';
import { loseOthers } from '../unknown-fields.ts';
import { addResults, observationsOf, partsOf, toReadStep } from './read-step.ts';
import { type AtifStep, parseTrajectory, type Trajectory } from './shapes.ts';
import { countFinalMetrics, loseFieldsOf, loseFieldsOfStep } from './unread-fields.ts';

const PATH = 'subagent_trajectories[]';
const STEPS = `${PATH}.steps[]`;

/** Adds the runs of sub-agents as side conversations, each under its id. */
export function addBranches(
  conversation: ReadConversation,
  parent: Trajectory,
  context: ReadContext,
  names = new Map<string, number>(),
): void {
  for (const each of parent.subagent_trajectories ?? []) {
    const trajectory = parseTrajectory(each);
    loseFieldsOf(trajectory, PATH, context.losses);
    loseOthers(trajectory.extra, [], `${PATH}.extra`, context.losses);
    const given = nameOf(trajectory.trajectory_id ?? trajectory.session_id ?? trajectory.agent.name);
    const count = (names.get(given) ?? 0) + 1;
    names.set(given, count);
    // Two sub-agents with the same name become two conversations.
    addBranch(conversation, trajectory, count === 1 ? given : `${given} (${count})`, context);
    addBranches(conversation, trajectory, context, names);
  }
}

/**
 * Adds one sub-agent. Messages to it are the input of its next step. The input of its first step also names its model
 * and its tools.
 */
function addBranch(conversation: ReadConversation, trajectory: Trajectory, name: string, context: ReadContext): void {
  const { agent } = trajectory;
  const { losses } = context;
  const model = nameOf(agent.model_name ?? agent.name);
  const tools = toTools(agent.tool_definitions);
  const steps: Step[] = [];
  let told: JsonObject[] = [];
  for (const step of trajectory.steps) {
    loseFieldsOfStep(step, STEPS, agent.model_name, losses);
    let loose: ContentPart[][];
    if (step.source === 'agent') {
      const isFirst = steps.length === 0;
      const offered = isFirst && tools.length > 0 ? { tools } : {};
      const input = { dialect: 'chat' as const, model, messages: told, ...offered };
      const branch = { name, input: isFirst || told.length > 0 ? input : undefined };
      const read = conversation.addStep({ ...toReadStep(step, STEPS, context), branch });
      steps.push(read);
      loose = addResults(read, step, STEPS, context);
      told = [];
    } else {
      told.push(toInput(step.source, partsOf(step.message, `${STEPS}.message`, context), losses));
      loose = observationsOf(step, STEPS, context);
    }
    told.push(...loose.map((parts) => toInput('user', parts, losses)));
  }
  losses.add(STEPS, 'the sub-agent has answered nothing after it', told.length);
  if (steps.length === 0) losses.add(`${PATH}.agent`, 'the sub-agent has never answered');
  countFinalMetrics(steps, trajectory, PATH, losses);
}

function toInput(role: AtifStep['source'], parts: ContentPart[], losses: Losses): JsonObject {
  const images = parts.filter(({ type }) => type !== 'text').length;
  losses.add(`${STEPS}.message`, 'messages to a sub-agent are kept as text', images);
  return { role, content: readableText(parts) };
}
