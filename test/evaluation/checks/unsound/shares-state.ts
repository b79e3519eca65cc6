import { createFill } from './fill.ts';

const shelf = { count: 0, calls: 0 };

/** All sessions of a process have one shelf. */
export default () => createFill({ shelf });
