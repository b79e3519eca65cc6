import { readFileSync } from 'node:fs';
import { createFill } from './fill.ts';

/** A template of a resource takes any path. */
export default () =>
  createFill({
    more: (env) => {
      env.resource('files://{path}', { description: 'A file of the shelf.' }, ({ path }) => readFileSync(path, 'utf8'));
    },
  });
