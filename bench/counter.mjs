// `counter`, compiled while it is loaded. The package and all else were loaded before or are loaded after, as they are:
// a loader that stays would slow down what is measured.
import 'proctor';
import { register } from 'tsx/esm/api';

const unregister = register({ tsconfig: false });
export const { default: Counter } = await import('../environments/counter/environment.ts');
await unregister();
