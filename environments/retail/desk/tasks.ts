import { z } from 'zod';

const callSchema = z.object({ name: z.string(), arguments: z.record(z.string(), z.json()) });

/** A task as `tasks.json` has it, without the fields that nothing here reads. */
export const taskSchema = z.object({
  id: z.string(),
  user_scenario: z.object({
    instructions: z.object({ reason_for_call: z.string(), known_info: z.string().nullish() }),
  }),
  evaluation_criteria: z.object({
    actions: z
      .array(callSchema)
      .nullish()
      .transform((calls) => calls ?? []),
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

/** The calls that lead to the right end state, in order. One that the desk refuses is part of it. */
export function referenceCalls(task: Task): readonly ReferenceCall[] {
  return task.evaluation_criteria.actions;
}

/** Sentences about the agent's conduct, which comparing databases cannot judge. */
export function assertions(task: Task): readonly string[] {
  return task.evaluation_criteria.nl_assertions;
}
