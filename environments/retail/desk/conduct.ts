import { NoJudgeError, type ToolContext } from 'proctor';
import type { Judgement } from './judge.ts';
import { assertions, type Task } from './tasks.ts';

type Conversation = ToolContext['conversation'];

/** The evaluation of a conversation: the reward is the product of its parts, as far as the task counts them. */
export interface ConductGrade {
  readonly reward: number;
  readonly content: string;
  /** The parts, without weight: the reward is their product and no mean. */
  readonly subscores: readonly { readonly name: string; readonly value: number; readonly weight: 0 }[];
  readonly info: Omit<Judgement['info'], 'not_judged'> & {
    /** `records`, `facts` and, where it was judged, `conduct`: 0 or 1 each. One that is 0 takes all of the reward. */
    readonly parts: Readonly<Record<string, number>>;
    /** Facts of the task that the agent did not tell. They count where the task's basis names COMMUNICATE. */
    readonly missing_facts: readonly string[];
    readonly assertions: readonly {
      readonly sentence: string;
      readonly score: number;
      readonly reasons: readonly string[];
    }[];
    /** Sentences without a verdict: nobody judges. */
    readonly not_judged: readonly string[];
  };
}

/**
 * Grades a conversation by the end state, by the facts that were told, and by the sentences about the agent's conduct, which
 * a judge reads the conversation for. Without a judge the rest decides, and `not_judged` lists the sentences.
 */
export async function gradeConversation(
  task: Task,
  state: Judgement,
  { conversation, judge }: Pick<ToolContext, 'conversation' | 'judge'>,
): Promise<ConductGrade> {
  const { communicate_info, reward_basis } = task.evaluation_criteria;
  const unknown = reward_basis.filter((part) => !GRADED.has(part));
  // What is left out of a product would be paid to everybody.
  if (unknown.length > 0) throw new Error(`Task ${task.id} counts ${unknown.join(', ')}, which nothing here grades`);
  const missing = communicate_info.filter((fact) => !isTold(fact, conversation));
  const judged = await judgeAssertions(task, conversation, judge);
  const parts = [
    { name: 'records', value: state.reward, counts: reward_basis.includes('DB') },
    { name: 'facts', value: missing.length === 0 ? 1 : 0, counts: reward_basis.includes('COMMUNICATE') },
    ...(judged.verdicts.length === 0
      ? []
      : [
          {
            name: 'conduct',
            value: judged.verdicts.every(({ score }) => score >= 0.5) ? 1 : 0,
            counts: reward_basis.includes('NL_ASSERTION'),
          },
        ]),
  ];
  const { not_judged: _unread, ...info } = state.info;
  return {
    reward: parts.filter(({ counts }) => counts).reduce((product, { value }) => product * value, 1),
    content: describe(state, missing, judged),
    subscores: parts.map(({ name, value }) => ({ name, value, weight: 0 })),
    info: {
      ...info,
      parts: Object.fromEntries(parts.map(({ name, value }) => [name, value])),
      missing_facts: missing,
      assertions: judged.verdicts,
      not_judged: judged.notJudged,
    },
  };
}

/** Parts that a task's `reward_basis` may name. */
const GRADED: ReadonlySet<string> = new Set(['DB', 'COMMUNICATE', 'NL_ASSERTION']);

interface JudgedAssertions {
  readonly verdicts: ConductGrade['info']['assertions'];
  readonly notJudged: readonly string[];
}

async function judgeAssertions(
  task: Task,
  conversation: Conversation,
  judge: ToolContext['judge'],
): Promise<JudgedAssertions> {
  const sentences = assertions(task);
  const material = conversation.map(({ role, content }) => ({
    from: role === 'user' ? 'customer' : 'agent',
    text: content,
  }));
  try {
    const verdicts = await Promise.all(
      sentences.map(async (sentence) => {
        const { score, reasons } = await judge({
          rubric: `The material is a conversation between a customer and an agent of a service desk. Is this true of it?\n${sentence}`,
          material,
        });
        return { sentence, score, reasons };
      }),
    );
    return { verdicts, notJudged: [] };
  } catch (error) {
    if (error instanceof NoJudgeError) return { verdicts: [], notJudged: sentences };
    throw error;
  }
}

/** As upstream counts: the fact stands in a message of the agent, whatever the case, commas of numbers aside. */
function isTold(fact: string, conversation: Conversation): boolean {
  const plain = (text: string) => text.toLowerCase().replaceAll(',', '');
  return conversation.some(({ role, content }) => role === 'assistant' && plain(content).includes(plain(fact)));
}

function describe(state: Judgement, missing: readonly string[], { verdicts, notJudged }: JudgedAssertions): string {
  const failed = verdicts.filter(({ score }) => score < 0.5).map(({ sentence }) => sentence);
  return [
    state.content,
    ...(missing.length === 0 ? [] : [`Not told: ${missing.join('; ')}.`]),
    ...(failed.length === 0 ? [] : [`Not as it should be: ${failed.join('; ')}`]),
    ...(notJudged.length === 0
      ? []
      : [`${notJudged.length} sentences about the conduct were not judged: set models.judge.`]),
  ].join(' ');
}
