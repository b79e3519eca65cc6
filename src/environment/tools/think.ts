import { z } from 'zod';
import type { ToolSet } from '../authoring/tool-set.ts';

/** The tool `think`: takes a thought and gives nothing. It has no state and needs no sandbox. */
export function think(): ToolSet {
  return {
    addTo(env) {
      env.tool(
        'think',
        {
          description: 'Notes a thought. It changes nothing and gives nothing new.',
          args: { thought: z.string().describe('The thought.') },
          annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
        },
        () => '',
      );
    },
  };
}
