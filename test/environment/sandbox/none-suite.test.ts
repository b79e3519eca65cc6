import { openNone } from '../../../src/environment/sandbox/none/engine.ts';
import { describeEngine } from './engine-suite.ts';
import { underTest } from './local-engines.ts';

describeEngine('none', async () => await underTest(openNone()));
