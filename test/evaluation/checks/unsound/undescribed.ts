import { createFill } from './fill.ts';

/** Nobody says what the tool does. */
export default () => createFill({ putDescription: undefined });
