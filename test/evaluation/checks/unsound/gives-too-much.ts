import { createFill } from './fill.ts';

/** A result that no model can afford. */
export default () =>
  createFill({
    more: (env) => {
      env.tool('list_all', { description: 'Lists every piece.', annotations: { readOnlyHint: true } }, () =>
        'piece '.repeat(30_000),
      );
    },
  });
