import { Hub } from 'proctor';
import { z } from 'zod';
import { createFind } from './find.ts';

/** A function of an agent's hub, which takes an argument, tells the answer. */
export default () =>
  createFind({
    more: (env, codeOf) => {
      const args = { chapter: z.enum(['first', 'last']).describe('Which chapter.') };
      const desk = new Hub('desk', { audience: 'agent' });
      desk.tool('greet', { description: 'Says hello.' }, () => 'Hello.');
      desk.tool('summarize', { description: 'Gives a summary.', args }, () => `People: Ada has ${codeOf('Ada')}.`);
      env.mount(desk);
    },
  });
