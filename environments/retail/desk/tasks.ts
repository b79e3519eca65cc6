import { z } from 'zod';

const callSchema = z.object({ name: z.string(), arguments: z.record(z.string(), z.json()) });

/** A task as `tasks.json` has it, without the fields that nothing here reads. */
export const taskSchema = z.object({
  id: z.string(),
  user_scenario: z.object({
    persona: z.string().nullish(),
    instructions: z.object({
      reason_for_call: z.string(),
      known_info: z.string().nullish(),
      unknown_info: z.string().nullish(),
      task_instructions: z.string().nullish(),
    }),
  }),
  /** The customer's lines, for a play without a model. */
  user_script: z.array(z.string()).optional(),
  evaluation_criteria: z.object({
    actions: z
      .array(callSchema)
      .nullish()
      .transform((calls) => calls ?? []),
    communicate_info: z
      .array(z.string())
      .nullish()
      .transform((facts) => facts ?? []),
    reward_basis: z
      .array(z.string())
      .nullish()
      .transform((basis) => basis ?? ['DB', 'NL_ASSERTION']),
    nl_assertions: z
      .array(z.string())
      .nullish()
      .transform((sentences) => sentences ?? []),
  }),
});
export type Task = z.infer<typeof taskSchema>;
export type ReferenceCall = z.infer<typeof callSchema>;

/**
 * What the agent is told of a task: why the customer calls and what the customer knows. How the customer is to behave,
 * what they do not know and what is graded stay here.
 */
export function toRequest(task: Task): string {
  const { reason_for_call, known_info } = task.user_scenario.instructions;
  const parts = [
    'A customer contacts the desk.',
    `What the customer wants (the customer is "you"):\n${reason_for_call.trim()}`,
  ];
  if (known_info) parts.push(`What the customer can say about themselves:\n${known_info.trim()}`);
  return parts.join('\n\n');
}

/** The instructions of the customer in a conversation: the whole story, which the agent hears as it is told. */
export function toUserInstructions({ user_scenario: { persona, instructions } }: Task): string {
  const { reason_for_call, known_info, unknown_info, task_instructions } = instructions;
  const parts = [
    ['You are a customer of a shop, and write to its service desk.', persona],
    ['What you want:', reason_for_call],
    ['What you know:', known_info],
    ['What you do not know:', unknown_info],
    ['How you behave:', task_instructions],
  ];
  return parts
    .filter(([, text], index) => index === 0 || text)
    .map((lines) => lines.filter(Boolean).join('\n'))
    .join('\n\n');
}

/** Lines of a customer who tells first what they want, then who they are. */
export function toUserScript({ user_script, user_scenario: { instructions } }: Task): readonly string[] {
  const { reason_for_call, known_info } = instructions;
  return user_script ?? [reason_for_call, ...(known_info ? [known_info] : [])];
}

/** The calls that lead to the right end state, in order. One that the desk refuses is part of it. */
export function referenceCalls(task: Task): readonly ReferenceCall[] {
  return task.evaluation_criteria.actions;
}

/** Sentences about the agent's conduct, which comparing databases cannot judge. */
export function assertions(task: Task): readonly string[] {
  return task.evaluation_criteria.nl_assertions;
}

/** Facts that the agent has to tell the customer. */
export function facts(task: Task): readonly string[] {
  return task.evaluation_criteria.communicate_info;
}
