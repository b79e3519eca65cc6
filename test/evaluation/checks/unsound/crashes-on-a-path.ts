import { createFill } from './fill.ts';

/** A template of a resource ends the whole process where it is given a path out of its folder. */
export default () =>
  createFill({
    more: (env) => {
      env.resource('box://{name}', { description: 'A box of the shelf.' }, ({ name }) => {
        if (name.includes('../')) process.exit(3);
        return `The box ${name.length} is empty.`;
      });
    },
  });
