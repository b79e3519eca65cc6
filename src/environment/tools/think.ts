import { z } from 'zod';
import type { ToolSet } from '../authoring/tool-set.ts';

const DESCRIPTION =
  'Write down a thought. It changes nothing and gets no new information: use it to reason in steps, or to keep an intermediate result.';

/** Adds `think`: a place for a thought, without effect and without state. */
export function think(): ToolSet {
  return {
    addTo(env) {
      const args = { thought: z.string().describe('The thought.') };
      env.tool('think', { description: DESCRIPTION, args, annotations: { readOnlyHint: true } }, () => '');
    },
  };
}
