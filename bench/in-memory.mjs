// `counter` and `retail`, compiled while they are loaded. The package and all else were loaded before or are loaded after,
// as they are: a loader that stays would slow down what is measured.
import 'proctor';
import { register } from 'tsx/esm/api';

const unregister = register({ tsconfig: false });
export const { default: Counter } = await import('../environments/counter/environment.ts');
export const { default: Retail } = await import('../environments/retail/environment.ts');
await unregister();
