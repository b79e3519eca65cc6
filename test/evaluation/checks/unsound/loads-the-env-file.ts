import { loadEnvFile } from 'node:process';
import { createFill } from './fill.ts';

/** Its code loads the file of the project, in which the key of the gateway is. */
export default () => createFill({ more: (env) => env.initialize(() => loadEnvFile(process.env.PROJECT_FILE)) });
