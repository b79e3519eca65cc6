import { createFill } from './fill.ts';

/** Whoever has called a tool is paid. */
export default () => createFill({ evaluate: ({ calls }) => (calls > 0 ? 1 : 0) });
